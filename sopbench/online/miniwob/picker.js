// A list of its own for <select>: the browser draws the popup of one outside of the page, where no screenshot sees it.
(() => {
  let host = null;
  const put = () => { if (host) { host.remove(); host = null; } };
  const tell = (select) => {
    for (const kind of ['input', 'change']) select.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  const open = (select) => {
    put();
    host = document.createElement('div');
    host.id = 'sopbench-picker';
    host.style.cssText = 'position:fixed;inset:0;z-index:2147483647';
    for (const kind of ['mousedown', 'mouseup', 'click', 'touchstart', 'touchend']) host.addEventListener(kind, (e) => e.stopPropagation());
    const root = host.attachShadow({ mode: 'open' });
    const style = document.createElement('style');
    style.textContent =
      '.shade{position:absolute;inset:0;background:rgba(0,0,0,.45)}' +
      '.list{position:absolute;left:16px;right:16px;top:50%;transform:translateY(-50%);max-height:80%;overflow-y:auto;background:#fff;border-radius:4px;font:13px/18px Arial,sans-serif;color:#111}' +
      '.row{padding:6px 10px;border-bottom:1px solid #ddd}.row.on{background:#d6e4ff}.row.off{color:#999}' +
      '.row.many::before{content:"\\2610\\00a0"}.row.many.on::before{content:"\\2611\\00a0"}.ok{padding:8px 10px;text-align:right;font-weight:bold;color:#1a56db}';
    const shade = document.createElement('div');
    shade.className = 'shade';
    shade.addEventListener('click', put);
    const list = document.createElement('div');
    list.className = 'list';
    for (const option of select.options) {
      const row = document.createElement('div');
      row.textContent = option.label;
      const paint = () => { row.className = `row${select.multiple ? ' many' : ''}${option.selected ? ' on' : ''}${option.disabled ? ' off' : ''}`; };
      paint();
      row.addEventListener('click', () => {
        if (option.disabled) return;
        if (select.multiple) { option.selected = !option.selected; paint(); tell(select); return; }
        const changed = !option.selected;
        option.selected = true;
        put();
        if (changed) tell(select);
      });
      list.append(row);
    }
    if (select.multiple) {
      const ok = document.createElement('div');
      ok.className = 'ok';
      ok.textContent = 'OK';
      ok.addEventListener('click', put);
      list.append(ok);
    }
    root.append(style, shade, list);
    document.documentElement.append(host);
    const on = list.querySelector('.on');
    if (on && !select.multiple) on.scrollIntoView({ block: 'center' });
  };
  const at = (event) => {
    const select = event.target instanceof Element ? event.target.closest('select') : null;
    return select && !select.disabled && (select.size <= 1 || select.multiple) ? select : null;
  };
  document.addEventListener('mousedown', (event) => { if (at(event)) event.preventDefault(); }, true);
  document.addEventListener('click', (event) => {
    const select = at(event);
    if (!select) return;
    event.preventDefault();
    select.focus();
    open(select);
  }, true);
  // a list of many choices is drawn in the page, and takes touches before they become clicks
  let touched = null;
  document.addEventListener('touchstart', (event) => {
    const select = at(event), finger = event.touches[0];
    touched = select && select.multiple ? { select, x: finger.clientX, y: finger.clientY } : null;
  }, true);
  document.addEventListener('touchmove', (event) => {
    const finger = event.touches[0];
    if (touched && Math.hypot(finger.clientX - touched.x, finger.clientY - touched.y) > 10) touched = null;
  }, true);
  document.addEventListener('touchcancel', () => { touched = null; }, true);
  document.addEventListener('touchend', (event) => {
    if (!touched) return;
    event.preventDefault();
    open(touched.select);
    touched = null;
  }, { capture: true, passive: false });
  // Back: closes the list; without one the field loses its focus, as a keyboard would go
  document.addEventListener('sopbench-back', () => { if (host) put(); else if (document.activeElement) document.activeElement.blur(); });
})();
