// Starts the episode: given the seed. The page's own timer must exist (without one it gives no reward) and must never fire.
(seed) => {
  if (typeof core === 'undefined' || typeof genProblem === 'undefined') return { error: 'this is no page of MiniWoB++' };
  Math.seedrandom(String(seed));
  core.EPISODE_MAX_TIME = 1e9;
  core.startEpisodeReal();
  clearInterval(core.CD_TIMER);
  // one episode a page: the cover that comes at the end starts no second one
  core.startEpisodeReal = () => {};
  const said = core.getUtterance();
  return { goal: String(said && typeof said === 'object' ? said.utterance : said).slice(0, 4000) };
}
