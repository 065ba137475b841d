// Charts as plain HTML: they stay sharp, follow the reader's colours and font size, and every bar is a button that filters the list.

// A bar or cell that filters when there is something to filter, else plain text.
function pick(filter, props, ...kids) {
  if (!filter) return el("div", props, ...kids);
  return el("button", { ...props, type: "button", on: { click: () => showOnly(filter) } }, ...kids);
}

function card(title, note, body, cls) {
  return el("section", { class: "card " + (cls || "") }, el("h3", null, title), note && el("p", { class: "note" }, note), body);
}

// rows: [{label, title, value, text, behind, filter, tone}], value and behind as fractions of the full width.
function bars(rows, wide) {
  return el("div", { class: "bars" + (wide ? " wide" : ""), role: "list" }, rows.map((row) =>
    el("div", { role: "listitem" }, pick(row.filter, { class: "barrow", title: row.title },
      el("span", { class: "barname" }, row.label),
      el("span", { class: "track", "aria-hidden": "true" },
        row.behind !== undefined && el("span", { class: "bar behind", vars: { v: row.behind } }),
        el("span", { class: "bar " + (row.tone || ""), vars: { v: row.value } })),
      el("span", { class: "barvalue" }, row.text)))));
}

// columns: [{label, value, n, title, filter}], value as a fraction of the full height.
function columns(items, axis, tone) {
  const dense = items.length > 14;
  return el("div", { class: "columnbox" },
    el("div", { class: "columns" + (dense ? " dense" : ""), role: "list" }, items.map((item) =>
      el("div", { role: "listitem" }, pick(item.filter, { class: "column", title: item.title, "aria-label": item.title },
        el("span", { class: "colvalue" }, item.text ?? ""),
        el("span", { class: "col " + (tone || ""), vars: { v: item.value } }),
        el("span", { class: "colname" }, item.label))))),
    axis && el("p", { class: "axis", "aria-hidden": "true" }, axis));
}

function firstFailures(rows) {
  const most = Math.max(1, ...rows.map((row) => row.n));
  const total = rows.reduce((sum, row) => sum + row.n, 0);
  const items = rows.map((row) => ({
    label: String(row.step + 1),
    value: row.n / most,
    text: row.n ? num(row.n) : "",
    title: plural(row.n, "trajectory", "trajectories") + " first failed at step " + (row.step + 1) + " (" + one((100 * row.n) / Math.max(1, total)) + " %)",
    filter: row.n ? { out: "failed", at: String(row.step) } : null,
  }));
  return card("First failure by step", plural(total, "trajectory stops", "trajectories stop") + " at a mismatch", columns(items, "step", "bad"));
}

function byLength(rows) {
  return card("Success by trajectory length",
    el("span", { class: "keys" }, el("span", { class: "key front" }, "solved (TSR)"), el("span", { class: "key back" }, "progress (PG)")),
    bars(rows.map((row) => ({
      label: el("span", null, row.label, el("small", null, " n " + num(row.n))),
      value: (row.tsr ?? 0) / 100,
      behind: (row.pg ?? 0) / 100,
      text: el("span", null, row.tsr === null ? "\u2013" : one(row.tsr), el("small", null, row.pg === null ? "" : " / " + one(row.pg))),
      title: "Length " + row.label + ": TSR " + row.tsr + " %, PG " + row.pg + " %, n " + row.n,
      filter: LENGTH.test(row.label) ? { len: row.label } : null,
    }))));
}

function byAction(rows) {
  const sorted = [...rows].sort((a, b) => b.n - a.n);
  return card("Accuracy by action type",
    el("span", { class: "keys" }, el("span", { class: "key front" }, "whole action"), el("span", { class: "key back" }, "type only")),
    bars(sorted.map((row) => ({
      label: el("span", null, label(row.kind), el("small", null, " n " + num(row.n))),
      value: (row.match ?? 0) / 100,
      behind: (row.type_match ?? 0) / 100,
      text: el("span", null, row.match === null ? "\u2013" : one(row.match), el("small", null, row.type_match === null ? "" : " / " + one(row.type_match))),
      title: label(row.kind) + ": " + row.match + " % match, " + row.type_match + " % of the right type, n " + row.n,
      filter: ROWS.some((r) => TESTS.kind(r, row.kind)) ? { kind: row.kind } : null,
    }))));
}

// The main metric by the values of one tag.
function byGroup(group) {
  const steps = group.rows.some((row) => row.tm !== undefined);
  return card("By " + visible(group.tag ?? "?"),
    steps && el("span", { class: "keys" }, el("span", { class: "key front" }, "whole action (SR)"), el("span", { class: "key back" }, "type only (TM)")),
    bars(group.rows.map((row) => ({
      label: el("span", null, visible(row.value), el("small", null, " n " + num(row.n))),
      value: (row.main ?? 0) / 100,
      behind: row.tm === undefined ? undefined : row.tm / 100,
      text: el("span", null, row.main === undefined ? "\u2013" : one(row.main), el("small", null, row.tm === undefined ? "" : " / " + one(row.tm))),
      title: visible(row.value) + ": " + (row.main === undefined ? "not all is scored" : row.main + " %") + ", n " + row.n,
    }))));
}

function reasons(pairs) {
  const shown = [...pairs].sort((a, b) => b[1] - a[1]).slice(0, 12);
  const most = Math.max(1, ...shown.map((pair) => pair[1]));
  return card("Why steps do not match", "as the scoring profile says it",
    bars(shown.map(([reason, n]) => ({
      label: label(reason),
      value: n / most,
      text: num(n),
      tone: reason.startsWith("parse:") ? "warn" : "bad",
      title: reasonWords(reason) + ": " + num(n),
      filter: ROWS.some((row) => TESTS.reason(row, reason)) ? { reason } : null,
    })), true));
}

function confusion(rows) {
  const totals = new Map();
  for (const row of rows) for (const [pred, n] of row.preds) totals.set(pred, (totals.get(pred) || 0) + n);
  const order = rows.map((row) => row.gold);
  const preds = [...totals.keys()].sort((a, b) => place(order, a) - place(order, b) || totals.get(b) - totals.get(a));
  const head = el("tr", null, el("th", { scope: "col", class: "corner" }, "expert \u2193 \u2003 model \u2192"),
    preds.map((pred) => el("th", { scope: "col" }, el("span", null, label(pred)))));
  const body = rows.map((row) => {
    const n = new Map(row.preds);
    const sum = row.preds.reduce((all, pair) => all + pair[1], 0) || 1;
    return el("tr", null, el("th", { scope: "row" }, label(row.gold), el("small", null, " " + num(sum))), preds.map((pred) => {
      const count = n.get(pred) || 0;
      const same = pred === row.gold;
      const found = !same && count && ROWS.some((r) => r.faults.some((fault) => fault.kind === row.gold && fault.pred === pred));
      return el("td", null, pick(found ? { kind: row.gold, pred } : null, {
        class: "cell" + (same ? " same" : "") + (count ? "" : " none"),
        vars: { v: Math.sqrt(count / sum) },
        title: "expert " + label(row.gold) + ", model " + label(pred) + ": " + num(count) + " (" + one((100 * count) / sum) + " %)",
        "data-strong": count / sum > 0.4,
      }, count ? num(count) : "\u00b7"));
    }));
  });
  return card("What the model did instead", "steps by the expert's action and the model's; the diagonal is the right type",
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion of action types" },
      el("table", { class: "heat", vars: { columns: preds.length } }, el("thead", null, head), el("tbody", null, body))), "wide");
}

function place(order, value) {
  const index = order.indexOf(value);
  return index < 0 ? order.length : index;
}

function latencyBins() {
  const values = [];
  for (const row of ROWS) for (const step of row.steps) if (step.lat !== undefined) values.push(step.lat);
  if (values.length < 20) return null;
  values.sort((a, b) => a - b);
  const top = values[Math.floor(values.length * 0.99)] || 0;
  if (top <= 0) return null;
  const bins = new Array(24).fill(0);
  for (const value of values) bins[Math.min(23, Math.floor((value / top) * 23))] += 1;
  const most = Math.max(...bins);
  return el("div", { class: "spark", role: "img", "aria-label": "Distribution of latency from 0 to " + seconds(top) },
    el("div", { class: "sparkbars" }, bins.map((n) => el("span", { vars: { v: n / most } }))),
    el("div", { class: "sparkaxis", "aria-hidden": "true" }, el("span", null, "0"), el("span", null, "latency, to the 99th percentile"), el("span", null, seconds(top))));
}
