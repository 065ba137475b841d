// Waits until the page has come to rest (at most `limit` ms), and tells where the episode stands.
async (limit) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const end = performance.now() + limit;
  const spots = () => {
    let sum = scrollX * 7 + scrollY;
    for (const e of document.querySelectorAll('*')) sum += e.scrollTop + e.scrollLeft * 3;
    return sum;
  };
  const moving = () =>
    document.getAnimations().some((a) => a.playState === 'running' && a.effect && Number.isFinite(a.effect.getComputedTiming().endTime)) ||
    (window.jQuery && window.jQuery.timers && window.jQuery.timers.length > 0);
  await frame(); await frame();
  let before = spots();
  for (let still = 0; still < 2 && performance.now() < end;) {
    await frame();
    const now = spots();
    still = moving() || now !== before ? 0 : still + 1;
    before = now;
  }
  const there = typeof WOB_DONE_GLOBAL !== 'undefined';
  return {
    page: location.pathname.split('/').pop(),
    done: there && WOB_DONE_GLOBAL === true,
    raw: there && Number.isFinite(Number(WOB_RAW_REWARD_GLOBAL)) ? Number(WOB_RAW_REWARD_GLOBAL) : 0,
  };
}
