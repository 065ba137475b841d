// The list of trajectories: filters, pages, and a row each. Only one page of rows exists at a time.

const parts = {};
const MAX_CELLS = 40;

function listSection() {
  const outcomes = ["", "success", "failed", "not_scored"];
  const n = (out) => (out ? ROWS.filter((row) => row.out === out).length : ROWS.length);
  parts.outcomes = el("div", { class: "segments", role: "group", "aria-label": "Outcome" }, outcomes.filter((out) => !out || n(out)).map((out) =>
    el("button", { type: "button", "data-out": out, "aria-pressed": "false", on: { click: () => change({ out }) } },
      out && icon(OUTCOMES[out].icon), out ? OUTCOMES[out].word : "All", el("b", null, num(n(out))))));
  parts.reason = choice("Reason", "reason", tally("reason"));
  parts.kind = choice(ONLINE ? "Last action" : "Failing action", "kind", tally("kind"));
  parts.sort = el("select", { "aria-label": "Sort by", on: { change: (event) => change({ sort: event.target.value }) } },
    Object.entries(SORTS).map(([name, sort]) => el("option", { value: name }, sort.word)));
  parts.down = el("button", { type: "button", class: "square", on: { click: () => change({ down: !view.down }) } });
  parts.q = el("input", { type: "search", id: "search", placeholder: "Search goals and ids", "aria-label": "Search goals and ids", autocomplete: "off", spellcheck: "false",
    on: { input: (event) => change({ q: event.target.value }) } });
  parts.chips = el("div", { class: "chips" });
  parts.count = el("p", { class: "count", role: "status", "aria-live": "polite" });
  parts.rows = el("ol", { class: "rows" });
  parts.pages = el("nav", { class: "pages", "aria-label": "Pages of trajectories" });
  return el("section", { class: "list", id: "list", "aria-labelledby": "list-title" },
    el("div", { class: "listhead" }, el("h2", { id: "list-title", tabindex: "-1" }, ONLINE ? "Tasks" : "Trajectories"), parts.count, legend()),
    el("div", { class: "tools" }, el("span", { class: "searchbox" }, parts.q, el("kbd", { "aria-hidden": "true" }, "/")), parts.outcomes, parts.reason, parts.kind,
      el("span", { class: "sorts" }, parts.sort, parts.down)),
    parts.chips, parts.rows, parts.pages);
}

function legend() {
  const shown = ONLINE ? ["acted", "parse", "not_scored"] : STATIC ? ["match", "mismatch", "parse", "not_scored"] : ["match", "mismatch", "parse", "not_scored", "unreached"];
  return el("ul", { class: "legend", "aria-label": "Step symbols" }, shown.map((state) =>
    el("li", null, el("span", { class: "step " + state, "data-icon": STATES[state].icon, "aria-hidden": "true" }), STATES[state].word.toLowerCase())));
}

function choice(word, name, values) {
  return el("select", { "aria-label": word, disabled: !values.length, on: { change: (event) => change({ [name]: event.target.value }) } },
    el("option", { value: "" }, word + ": any"), values.slice(0, 200).map(([value, count]) => el("option", { value }, label(value) + " (" + num(count) + ")")));
}

function change(wanted) {
  Object.assign(view, { page: 0 }, wanted);
  select();
  drawList();
}

function showOnly(filter) {
  change({ ...NO_FILTER, ...filter });
  home();
  toList();
}

function toList() {
  byId("list").scrollIntoView({ block: "start" });
  byId("list-title").focus({ preventScroll: true });
}

function drawList() {
  for (const button of parts.outcomes.children) button.setAttribute("aria-pressed", String(button.dataset.out === view.out));
  parts.reason.value = view.reason;
  parts.kind.value = view.kind;
  parts.sort.value = view.sort;
  if (parts.q.value !== view.q) parts.q.value = view.q;
  parts.down.textContent = view.down ? "\u2193" : "\u2191";
  parts.down.setAttribute("aria-label", view.down ? "Descending; switch to ascending" : "Ascending; switch to descending");
  const shown = view.rows.length;
  parts.count.textContent = shown === ROWS.length ? num(shown) : num(shown) + " of " + num(ROWS.length);
  drawChips();
  const start = view.page * PAGE_SIZE;
  parts.rows.start = start + 1;
  parts.rows.replaceChildren(...(shown ? view.rows.slice(start, start + PAGE_SIZE).map(rowNode) : [nothing()]));
  drawPages(shown);
}

function drawChips() {
  const chips = [];
  const chip = (name, word) => chips.push(el("button", { type: "button", class: "chip", "aria-label": "Remove filter: " + word, on: { click: () => change({ [name]: "" }) } }, word, el("span", { "aria-hidden": "true" }, "\u00d7")));
  if (view.at !== "") chip("at", "first failure at step " + (Number(view.at) + 1));
  if (view.len !== "") chip("len", "length " + view.len);
  if (view.pred !== "") chip("pred", "model did " + label(view.pred));
  if (Object.keys(NO_FILTER).some((name) => view[name] !== "")) chips.push(el("button", { type: "button", class: "plain", on: { click: () => change(NO_FILTER) } }, "Clear filters"));
  parts.chips.replaceChildren(...chips);
}

const nothing = () => el("li", { class: "nothing" }, el("p", null, "No trajectory fits these filters."),
  el("button", { type: "button", class: "plain", on: { click: () => change(NO_FILTER) } }, "Clear filters"));

function drawPages(shown) {
  const pages = Math.ceil(shown / PAGE_SIZE);
  const go = (page) => () => { view.page = page; drawList(); toList(); };
  const button = (word, page, off) => el("button", { type: "button", disabled: off, on: { click: go(page) } }, word);
  parts.pages.replaceChildren(...(pages < 2 ? [] : [
    button("\u2190 Previous", view.page - 1, view.page === 0),
    el("span", null, num(view.page * PAGE_SIZE + 1) + " \u2013 " + num(Math.min(shown, (view.page + 1) * PAGE_SIZE)) + " of " + num(shown)),
    button("Next \u2192", view.page + 1, view.page === pages - 1)]));
}

function progressWords(row) {
  if (ONLINE) return plural(row.t, "step") + (row.reason ? ": " + reasonWords(row.reason) : "");
  const head = row.s + " of " + plural(row.t, "step") + " matched";
  if (STATIC && row.t > 1) return row.out === "not_scored" ? head + "; not all scored: " + reasonWords(row.reason) : head;
  return row.out === "success" ? head : head + "; " + (row.out === "failed" ? "step " + (row.at + 1) + ": " : "not scored: ") + reasonWords(row.reason);
}

// Each step as a cell with a colour and a symbol; very long trajectories as three stretches.
function progressBar(row) {
  const cell = (state, grow, diag) => el("span", { class: "step " + state + (diag ? " diag" : ""), "data-icon": STATES[state].icon, vars: grow > 1 ? { grow } : {} });
  let cells;
  if (STATIC && row.t > MAX_CELLS) {
    const n = (state) => row.steps.filter((step) => step.st === state).length;
    cells = ["match", "mismatch", "parse", "not_scored"].map((state) => n(state) > 0 && cell(state, n(state)));
  } else if (row.t <= MAX_CELLS) cells = row.steps.map((step) => cell(step.st, 1, step.diag));
  else {
    const stop = row.steps[row.s];
    const done = ONLINE ? "acted" : "match";
    cells = [row.s && cell(done, row.s), stop && cell(stop.st, 1), row.t - row.s > 1 && cell("unreached", row.t - row.s - 1)];
  }
  return el("span", { class: "steps" + (row.t > 12 ? " dense" : ""), role: "img", "aria-label": progressWords(row) }, cells);
}

function rowNode(row) {
  const outcome = OUTCOMES[row.out];
  const score = ONLINE ? (row.end?.score === undefined ? "\u2013" : places(row.end.score * 100) + " %") : row.s + "/" + (DATA.lengths ? row.t : "?");
  return el("li", null, el("a", { class: "row " + row.out, href: linkTo(row, row.out === "success" ? 0 : row.at ?? 0), "data-row": row.index },
    el("span", { class: "badge " + row.out, title: outcome.word }, icon(outcome.icon), el("span", { class: "offscreen" }, outcome.word)),
    el("span", { class: "what" }, el("bdi", { class: "goal" }, visible(row.goal || (ONLINE ? "" : "(goal not known)"))),
      el("span", { class: "id" }, visible(row.id), RUN.repeats > 1 && el("span", { class: "rep" }, " \u00b7 repeat " + (row.rep + 1)))),
    progressBar(row), el("span", { class: "ratio" }, score),
    el("span", { class: "why" }, row.out === "success" ? "" : [row.kind && el("b", null, label(row.kind)), row.kind && row.reason && " ", label(row.reason || "")])));
}
