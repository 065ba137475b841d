// What the experts see: the elements that fit a selector and are shown, with where a finger would hit them. `inside`: in the list of choices that stands for a <select>.
(selector, inside) => {
  const host = document.getElementById('sopbench-picker');
  const root = inside ? host && host.shadowRoot : document;
  if (!root) return [];
  const short = (text) => String(text === undefined || text === null ? '' : text).slice(0, 2000);
  const scroller = (e) => {
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) {
      const how = getComputedStyle(p).overflowY;
      if ((how === 'auto' || how === 'scroll') && p.scrollHeight > p.clientHeight + 1) return p;
    }
    return null;
  };
  const box = (r) => [r.left, r.top, r.width, r.height];
  const hit = (e, over) => {
    if (over) { // half hidden at an edge of what scrolls: to be scrolled first
      const r = e.getBoundingClientRect(), o = over.getBoundingClientRect(), y = r.top + r.height / 2;
      if (y < o.top + 2 || y > o.bottom - 2) return null;
    }
    for (const r of e.getClientRects()) {
      for (const [fx, fy] of [[.5, .5], [.25, .5], [.75, .5], [.5, .25], [.5, .75], [.1, .1], [.9, .9], [.1, .9], [.9, .1]]) {
        const x = r.left + r.width * fx, y = r.top + r.height * fy;
        const at = root.elementFromPoint(x, y);
        if (at && (at === e || e.contains(at))) return [x, y];
      }
    }
    return null;
  };
  const names = ['type', 'placeholder', 'fill', 'stroke', 'cx', 'cy', 'r', 'x', 'y', 'x1', 'y1', 'x2', 'y2', 'points', 'd', 'width', 'height'];
  const seen = [];
  for (const e of root.querySelectorAll(selector)) {
    const r = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (style.visibility === 'hidden' || style.display === 'none' || (r.width === 0 && r.height === 0)) continue;
    const over = scroller(e);
    const attributes = {};
    for (const name of names) if (e.hasAttribute(name)) attributes[name] = short(e.getAttribute(name)).slice(0, 300);
    seen.push({
      tag: e.tagName.toLowerCase(), id: short(e.id), classes: short(e.getAttribute('class')).split(/\s+/).filter(Boolean),
      text: short(e.innerText === undefined ? e.textContent : e.innerText).replace(/\s+/g, ' ').trim(),
      value: short(e.value), checked: e.checked === true || e.selected === true, disabled: e.disabled === true,
      focused: document.activeElement === e, box: box(r), hit: hit(e, over), over: over ? box(over.getBoundingClientRect()) : null,
      colour: style.backgroundColor, attributes,
    });
    if (seen.length >= 400) break;
  }
  return seen;
}
