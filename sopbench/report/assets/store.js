// The run's data, and which of its trajectories the reader wants to see.

const DATA = JSON.parse(byId("data").textContent);
const RUN = DATA.overview;
const ONLINE = RUN.protocol === "online";
const STATIC = RUN.protocol === "static";
const ROWS = DATA.rows;
const PAGE_SIZE = 50;

// What filters look at: the step that ended an episode; in a static run, where no step ends anything, each step that does not match.
function faultsOf(row) {
  if (!STATIC) return row.out === "success" ? [] : [row];
  return row.steps.filter((step) => step.st !== "match").map((step) => ({
    reason: step.reason ?? step.error?.reason,
    kind: step.gold?.action,
    pred: step.st === "parse" ? "parse_failure" : step.pred?.action,
    at: step.k,
  }));
}

ROWS.forEach((row, index) => {
  row.index = index;
  row.faults = faultsOf(row);
  row.search = [row.id, row.goal, ...(row.tags || []).flat()].join("\n").toLowerCase();
});
const PLACE = new Map(ROWS.map((row) => [row.id + "\n" + row.rep, row]));

let pictures = null;
function pictureUrl(slot) {
  const entry = DATA.screens[slot];
  if (!entry || entry[0] === null) return null;
  pictures ??= JSON.parse(byId("pictures").textContent);
  return Object.hasOwn(pictures, entry[0]) ? pictures[entry[0]] : "screens/" + encodeURIComponent(entry[0]);
}
const pictureFault = (slot) => {
  if (slot === undefined) return null;
  const entry = DATA.screens[slot];
  return entry && entry[0] === null ? entry[1] : null;
};

// The original size of a step's screen, as recorded with the answer or read from the picture.
function sizeOf(step) {
  if (step.size) return step.size;
  const entry = step.screen === undefined ? null : DATA.screens[step.screen];
  return entry && entry[0] !== null ? [entry[1], entry[2]] : null;
}

const NO_FILTER = { out: "", reason: "", kind: "", pred: "", at: "", len: "", q: "" };
const view = { ...NO_FILTER, sort: "data", down: false, page: 0, rows: ROWS };

const LENGTH = /^(\d+)(?:-(\d+)|(\+))?$/;
function inLength(row, group) {
  const parts = LENGTH.exec(group);
  if (!parts) return true;
  const low = Number(parts[1]);
  return row.t >= low && row.t <= (parts[3] ? Infinity : Number(parts[2] ?? low));
}

const TESTS = {
  out: (row, value) => row.out === value,
  reason: (row, value) => row.faults.some((fault) => fault.reason === value),
  kind: (row, value) => row.faults.some((fault) => fault.kind === value),
  pred: (row, value) => row.faults.some((fault) => fault.pred === value && (view.kind === "" || fault.kind === view.kind)),
  at: (row, value) => row.faults.some((fault) => fault.at === Number(value)),
  len: inLength,
  q: (row, value) => row.search.includes(value.toLowerCase().trim()),
};

const SORTS = {
  data: { word: "Order in the data", key: (row) => row.index },
  id: { word: "Id", key: (row) => row.id },
  length: { word: "Length", key: (row) => row.t },
  progress: { word: "Progress", key: (row) => (ONLINE ? row.end?.score ?? -1 : row.t ? row.s / row.t : 0) },
};

const natural = new Intl.Collator("en", { numeric: true });

function select() {
  const active = Object.keys(NO_FILTER).filter((name) => view[name] !== "");
  const rows = ROWS.filter((row) => active.every((name) => TESTS[name](row, view[name])));
  const key = SORTS[view.sort].key;
  const compare = view.sort === "id" ? (a, b) => natural.compare(key(a), key(b)) : (a, b) => key(a) - key(b);
  rows.sort((a, b) => compare(a, b) * (view.down ? -1 : 1) || a.index - b.index);
  view.rows = rows;
  view.page = Math.min(view.page, Math.max(0, Math.ceil(rows.length / PAGE_SIZE) - 1));
}

// How often each value of a field occurs, most frequent first.
function tally(field) {
  const found = new Map();
  for (const row of ROWS) {
    for (const value of new Set(row.faults.map((fault) => fault[field]))) {
      if (value !== undefined && value !== "") found.set(value, (found.get(value) || 0) + 1);
    }
  }
  return [...found].sort((a, b) => b[1] - a[1] || natural.compare(String(a[0]), String(b[0])));
}
