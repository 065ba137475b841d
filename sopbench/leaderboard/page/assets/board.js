// Tabs, sorting and filters over tables that the page already holds. Nothing here makes markup out of text.

const sections = [...document.querySelectorAll(".board")];
const tabs = [...document.querySelectorAll(".picker a")];

const el = (tag, props, ...kids) => fill(document.createElement(tag), props, kids);
function fill(node, props, kids) {
  for (const [name, value] of Object.entries(props || {})) if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : String(value));
  node.append(...kids.flat(2).filter((kid) => kid !== null && kid !== undefined && kid !== false));
  return node;
}

// One board at a time; the address says which.
function choose(id, focus) {
  const chosen = sections.find((section) => section.id === id) || sections[0];
  if (!chosen) return;
  for (const section of sections) section.hidden = section !== chosen;
  for (const tab of tabs) {
    const on = tab.dataset.board === chosen.id;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    if (on && focus) tab.focus();
    if (on && innerWidth <= 620) tab.parentNode.scrollLeft = tab.offsetLeft - 60;
  }
}

function startTabs() {
  document.querySelector(".picker").setAttribute("role", "tablist");
  for (const section of sections) section.setAttribute("role", "tabpanel");
  tabs.forEach((tab, place) => {
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", tab.dataset.board);
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      choose(tab.dataset.board);
      history.replaceState(null, "", "#" + tab.dataset.board);
    });
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const to = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : by ? (place + by + tabs.length) % tabs.length : null;
      if (to === null) return;
      event.preventDefault();
      choose(tabs[to].dataset.board, true);
      history.replaceState(null, "", "#" + tabs[to].dataset.board);
    });
  });
  const fromAddress = () => {
    const id = location.hash.slice(1);
    if (sections.some((section) => section.id === id)) choose(id);
  };
  addEventListener("hashchange", fromAddress);
  choose(location.hash.slice(1));
}

const FIRST = 200; // rows of a list that are shown at first: a table of thousands takes a browser long to lay out

// Each body of a table is sorted by itself, so that tiers that are apart stay apart.
function startTable(section) {
  const table = section.querySelector(".rows");
  if (!table) return;
  const rows = [...table.querySelectorAll("tbody tr:not(.divider)")];
  const heads = [...table.querySelectorAll("thead th")];
  const state = { key: "rank", down: false };

  const value = (row, key) => row.dataset[key] ?? "";
  function compare(a, b) {
    const [x, y] = [value(a, state.key), value(b, state.key)];
    if ((x === "") !== (y === "")) return x === "" ? 1 : -1; // what is missing stands last, whichever way
    const numbers = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
    const found = numbers ? x - y : x.localeCompare(y, "en", { numeric: true });
    return (state.down ? -found : found) || a.dataset.place - b.dataset.place;
  }
  function sort() {
    for (const body of table.tBodies) {
      const own = [...body.querySelectorAll("tr:not(.divider)")];
      const sorted = own.toSorted ? own.toSorted(compare) : own.slice().sort(compare);
      body.append(...sorted);
    }
    filter();
    for (const head of heads) head.setAttribute("aria-sort", head.firstChild.dataset.sort === state.key ? (state.down ? "descending" : "ascending") : "none");
  }
  for (const head of heads) {
    const button = head.firstChild;
    button.addEventListener("click", () => {
      const key = button.dataset.sort;
      const downFirst = !["rank", "model", "setting", "tier"].includes(key);
      state.down = state.key === key ? !state.down : downFirst;
      state.key = key;
      sort();
    });
  }
  heads[0].setAttribute("aria-sort", "ascending");

  const tools = section.querySelector(".tools");
  tools.hidden = false;
  const search = tools.querySelector(".search");
  const tiers = [...tools.querySelectorAll("[data-tier]")];
  const selects = [...tools.querySelectorAll("select")];
  const count = tools.querySelector(".count");
  const nothing = section.querySelector(".nothing");
  const more = el("button", { type: "button", class: "all button" }, "Show all rows");
  section.querySelector(".tablebox").after(more);
  let most = FIRST;
  more.addEventListener("click", () => {
    most = Infinity;
    filter();
  });
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shownTiers = new Set(tiers.filter((button) => button.getAttribute("aria-pressed") === "true").map((button) => button.dataset.tier));
    let shown = 0, cut = false;
    for (const body of table.tBodies) {
      let here = 0;
      for (const row of body.rows) {
        if (row.className === "divider") continue;
        const fits = shownTiers.has(row.dataset.tier) && words.every((word) => row.dataset.model.includes(word)) &&
          selects.every((select) => !select.value || row.dataset[select.dataset.filter] === select.value);
        here += fits;
        const visible = fits && here <= most;
        if (row.hidden === visible) row.hidden = !visible;
      }
      shown += here;
      cut ||= here > most;
      const divider = body.querySelector(".divider");
      if (divider) divider.hidden = !here;
    }
    const all = rows.length.toLocaleString("en") + " rows";
    count.textContent = (shown === rows.length ? all : shown.toLocaleString("en") + " of " + all) + (cut ? ", the first " + most + " of each list are shown" : "");
    more.hidden = !cut;
    nothing.hidden = shown > 0;
  }
  for (const button of tiers) button.addEventListener("click", () => {
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    filter();
  });
  search.addEventListener("input", filter);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && search.value) { search.value = ""; filter(); event.preventDefault(); }
  });
  for (const select of selects) select.addEventListener("change", filter);
  filter();
}

// "/" goes to the search of the board that is shown.
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select, textarea")) return;
  const search = sections.find((section) => !section.hidden)?.querySelector(".search");
  if (!search) return;
  event.preventDefault();
  search.focus();
  search.select();
});

startTabs();
sections.forEach(startTable);
