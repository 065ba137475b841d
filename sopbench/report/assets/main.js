// Addresses, keys, and the start.

let listScroll = 0;

const linkTo = (row, step) => "#" + encodeURIComponent(row.id) + "/" + (step + 1) + (row.rep ? "/" + (row.rep + 1) : "");

// Go to a trajectory, by default to the step where it failed. Moving between its steps does not fill the history.
function goTo(row, step, quiet) {
  const wanted = linkTo(row, step ?? (row.out === "success" ? 0 : row.at ?? 0));
  if (location.hash === wanted) return;
  if (quiet || !byId("detail").hidden) history.replaceState(null, "", wanted);
  else location.hash = wanted;
  route();
}

function home() {
  if (location.hash !== "" && !byId("detail").hidden) {
    location.hash = "";
    route();
  }
}

function readAddress() {
  const [id, step, repeat] = location.hash.slice(1).split("/");
  if (!id) return null;
  try {
    const row = PLACE.get(decodeURIComponent(id) + "\n" + ((Number(repeat) || 1) - 1));
    return row ? { row, step: (Number(step) || 1) - 1 } : null;
  } catch {
    return null; // an address that is no address
  }
}

function route() {
  const target = readAddress();
  const [overview, detail] = [byId("overview"), byId("detail")];
  if (target) {
    const arriving = detail.hidden;
    const another = !shown || shown.row !== target.row;
    if (arriving) listScroll = window.scrollY;
    overview.hidden = true;
    detail.hidden = false;
    openDetail(target.row, target.step);
    if (arriving || another) {
      window.scrollTo(0, 0);
      byId("detail-title").focus({ preventScroll: true });
    }
  } else if (overview.hidden) {
    const left = detail.hidden ? null : shown?.row;
    detail.hidden = true;
    overview.hidden = false;
    if (left) backToList(left);
  }
}

// Show the row of the trajectory that was left, turning to its page if need be.
function backToList(row) {
  const place = view.rows.indexOf(row);
  if (place >= 0 && Math.floor(place / PAGE_SIZE) !== view.page) {
    view.page = Math.floor(place / PAGE_SIZE);
    drawList();
  }
  window.scrollTo(0, listScroll);
  const link = parts.rows.querySelector('[data-row="' + row.index + '"]');
  link?.focus({ preventScroll: true });
  link?.scrollIntoView({ block: "nearest" });
}

function moveInList(by) {
  const links = [...parts.rows.querySelectorAll("a")];
  if (!links.length) return;
  const now = links.indexOf(document.activeElement);
  const next = now < 0 ? (by > 0 ? 0 : links.length - 1) : now + by;
  if (next >= 0 && next < links.length) {
    links[next].focus({ preventScroll: true });
    links[next].scrollIntoView({ block: "nearest" });
    return;
  }
  const page = view.page + by;
  if (page < 0 || page * PAGE_SIZE >= view.rows.length) return;
  view.page = page;
  drawList();
  const fresh = parts.rows.querySelectorAll("a");
  fresh[by > 0 ? 0 : fresh.length - 1].focus();
}

function moveInDetail(rows, steps) {
  if (rows) {
    const next = view.rows[view.rows.indexOf(shown.row) + rows];
    if (next && view.rows.includes(shown.row)) goTo(next);
    return;
  }
  if (shown.row.steps[shown.step + steps]) goTo(shown.row, shown.step + steps, true);
}

const KEYS = [
  [["j", "\u2193"], "next trajectory"],
  [["k", "\u2191"], "previous trajectory"],
  [["Enter"], "open the chosen trajectory"],
  [["\u2190", "\u2192"], "previous and next step"],
  [["Home", "End"], "first and last step"],
  [["/"], "search"],
  [["Esc"], "back, or clear the search"],
  [["?"], "this help"],
];

function help() {
  const dialog = byId("help");
  if (!dialog.children.length) {
    dialog.append(el("h2", { id: "help-title" }, "Keyboard"), el("dl", null, KEYS.map(([keys, words]) => el("div", null, el("dt", null, keys.map((key) => el("kbd", null, key))), el("dd", null, words)))),
      el("button", { type: "button", class: "primary", on: { click: () => dialog.close() } }, "Close"));
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  if (!dialog.open) dialog.showModal();
}

function searchFocus() {
  home();
  parts.q.focus();
  parts.q.select();
  parts.q.scrollIntoView({ block: "center" });
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const typing = event.target.matches?.("input, textarea, select");
  const open = !byId("detail").hidden;
  if (typing) {
    if (event.key === "Escape" && event.target === parts.q) {
      if (view.q) change({ q: "" });
      else parts.q.blur();
      event.preventDefault();
    } else if ((event.key === "Enter" || event.key === "ArrowDown") && event.target === parts.q) {
      event.preventDefault();
      parts.q.blur();
      moveInList(1);
    }
    return;
  }
  const inner = event.target.closest?.("pre, .scroll"); // arrows scroll what has the focus and can scroll
  const inRows = parts.rows.contains(event.target);
  const run = {
    "j": () => (open ? moveInDetail(1, 0) : moveInList(1)),
    "k": () => (open ? moveInDetail(-1, 0) : moveInList(-1)),
    "ArrowDown": !inner && (open || inRows) && (() => (open ? moveInDetail(1, 0) : moveInList(1))),
    "ArrowUp": !inner && (open || inRows) && (() => (open ? moveInDetail(-1, 0) : moveInList(-1))),
    "ArrowLeft": !inner && open && (() => moveInDetail(0, -1)),
    "ArrowRight": !inner && open && (() => moveInDetail(0, 1)),
    "Home": !inner && open && (() => goTo(shown.row, 0, true)),
    "End": !inner && open && (() => goTo(shown.row, Math.max(0, shown.row.steps.length - 1), true)),
    "/": searchFocus,
    "?": help,
    "Escape": open && home,
  }[event.key];
  if (!run) return;
  event.preventDefault();
  run();
}

drawBar();
drawOverview();
select();
drawList();
byId("overview").hidden = false;
addEventListener("hashchange", route);
addEventListener("keydown", onKey);
route();
