// Whether a finger that moves from here would scroll: the page itself, or anything around the point.
(x, y) => {
  const page = document.scrollingElement;
  if (page && (page.scrollHeight > page.clientHeight + 1 || page.scrollWidth > page.clientWidth + 1)) return true;
  const host = document.getElementById('sopbench-picker');
  let at = document.elementFromPoint(x, y);
  if (host && at === host) at = host.shadowRoot.elementFromPoint(x, y);
  for (; at; at = at.parentElement || null) {
    const style = getComputedStyle(at);
    const may = (how) => how === 'auto' || how === 'scroll';
    const field = at.tagName === 'TEXTAREA' || at.tagName === 'SELECT';
    if ((may(style.overflowY) || field) && at.scrollHeight > at.clientHeight + 1) return true;
    if ((may(style.overflowX) || field) && at.scrollWidth > at.clientWidth + 1) return true;
  }
  return false;
}
