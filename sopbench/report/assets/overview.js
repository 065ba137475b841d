// The top of the page: what was measured, how sure it is, and where it goes wrong.

const percentBar = (low, high, value) =>
  el("div", { class: "interval", "aria-hidden": "true" },
    el("span", { class: "band", vars: { a: low / 100, b: high / 100 } }),
    value !== undefined && el("span", { class: "mark", vars: { a: value / 100 } }),
    el("span", { class: "zero" }, "0"), el("span", { class: "hundred" }, "100"));

function metric(row, first) {
  const range = row.ci || row.bounds;
  const known = row.value !== undefined;
  let big = known ? [one(row.value)] : row.bounds ? [one(row.bounds[0]) + "\u2013" + one(row.bounds[1])] : ["\u2013"];
  if (known || row.bounds) big = [...big, el("small", null, "%")];
  const under = known
    ? row.ci ? "95 % interval " + one(row.ci[0]) + " \u2013 " + one(row.ci[1]) : ""
    : row.bounds ? "bounds, not a result: unscored as failed \u2013 as solved" : "no summary yet";
  return el("div", { class: "metric" + (first ? " first" : "") + (known ? "" : " open"), title: row.meaning },
    el("h2", null, row.label), el("p", { class: "value" }, big), el("p", { class: "under" }, under),
    range && percentBar(range[0], range[1], row.value), el("p", { class: "meaning" }, row.meaning));
}

function banner() {
  const counts = RUN.counts;
  if (RUN.complete) return null;
  const rows = ROWS.filter((row) => row.out === "not_scored").length;
  const missing = counts.not_scored_trajectories || rows;
  const [unit, units] = RUN.repeats > 1 ? ["episode is", "episodes are"] : ONLINE ? ["task is", "tasks are"] : ["trajectory is", "trajectories are"];
  const all = counts.not_scored_trajectories ? (counts.scored_trajectories || 0) + counts.not_scored_trajectories : ROWS.length;
  const kinds = tally("reason").filter(([reason]) => ROWS.some((row) => row.out === "not_scored" && row.reason === reason));
  return el("section", { class: "banner", role: "alert" }, icon("bang"),
    el("div", null,
      el("strong", null, missing ? "Incomplete: " + num(missing) + " of " + plural(all, unit, units) + " not scored." : "Incomplete: this run has not finished."),
      el("p", null, "Infrastructure failed or the run was stopped; that is neither the model's failure nor its success, so no mean is shown, only the bounds that the missing ones leave. ",
        el("code", null, "sopbench resume"), " on the run's folder asks for exactly these again.")),
    el("div", { class: "bannerkinds" }, kinds.slice(0, 5).map(([reason, n]) =>
      el("button", { type: "button", class: "chip", title: reasonWords(reason), on: { click: () => showOnly({ out: "not_scored", reason }) } }, label(reason), el("b", null, num(n))))));
}

function tiles() {
  const c = RUN.counts;
  const solved = ROWS.filter((row) => row.out === "success").length;
  const whole = STATIC ? "trajectories whose every step matches" : (RUN.repeats > 1 ? "episodes" : ONLINE ? "tasks" : "trajectories") + " solved";
  const items = [[num(solved) + " / " + num(ROWS.length), whole]];
  if (c.scored_steps !== undefined && c.scored_steps !== null) items.push([num(c.scored_steps), ONLINE ? "steps taken" : "steps scored"]);
  if (RUN.usage.mean_score !== undefined) items.push([(100 * RUN.usage.mean_score).toFixed(1) + " %", "mean score"]);
  if (RUN.usage.mean_steps !== undefined) items.push([one(RUN.usage.mean_steps), "mean steps a task"]);
  if (c.parse_failed_steps !== undefined && c.parse_failed_steps !== null) items.push([num(c.parse_failed_steps), "unreadable replies"]);
  if (c.not_scored_steps) items.push([num(c.not_scored_steps), "steps not scored"]);
  if (RUN.usage.latency?.p50 !== undefined) items.push([seconds(RUN.usage.latency.p50), "median latency"]);
  return el("ul", { class: "tiles" }, items.map(([value, word]) => el("li", null, el("b", null, value), el("span", null, word))));
}

function factValue(value, how) {
  if (how === "code") return el("code", null, visible(value));
  if (how !== "hash") return visible(value);
  return el("button", { type: "button", class: "hash", title: visible(value) + "\n(click to copy)", on: { click: () => copy(value, "Hash") } }, visible(value.slice(0, 12)));
}

function facts() {
  return el("details", { class: "facts", open: innerWidth > 760 }, el("summary", null, "How this was measured"),
    el("dl", null, RUN.facts.map(([name, value, how]) => el("div", null, el("dt", null, name), el("dd", null, factValue(value, how))))));
}

function usage() {
  const u = RUN.usage;
  const lines = [];
  if (u.prompt !== undefined) lines.push(["Prompt tokens", num(u.prompt)]);
  if (u.completion !== undefined) lines.push(["Completion tokens", num(u.completion)]);
  if (Object.keys(u.latency || {}).length) lines.push(["Latency p50 / p90 / p99", ["p50", "p90", "p99"].map((q) => seconds(u.latency[q])).join(" / ")]);
  if (u.wall !== undefined) lines.push(["Wall time", seconds(u.wall)]);
  if (u.cost !== undefined) lines.push(["Cost", String(u.cost)]);
  if (u.retries !== undefined) lines.push(["Retries", num(u.retries)]);
  for (const [kind, n] of u.faults || []) lines.push(["Fault: " + label(kind), num(n)]);
  if (!lines.length) return null;
  return card("Tokens, latency, faults", null, [latencyBins(), el("dl", { class: "lines" }, lines.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))))]);
}

function ceiling() {
  const c = RUN.usage.ceiling;
  const limits = [["PG", c?.pg], ["TSR", c?.tsr], ["SR", c?.sr], ["Accuracy", c?.accuracy]].filter((pair) => pair[1] !== undefined);
  if (!limits.length) return null;
  const whole = limits.every((pair) => pair[1] === 100);
  const missing = c.missing || [];
  return card("Adapter ceiling", whole ? "This adapter can say every action of the suite." : "The best that any model can reach in this adapter's language.",
    [el("div", { class: "ceiling" }, limits.map(([name, value]) =>
      el("div", null, el("b", null, one(value), el("small", null, "%")), el("span", null, name + " at most")))),
    missing.length ? el("p", { class: "note" }, "No words for: ", missing.map(([kind, n]) => label(kind) + " (" + num(n) + ")").join(", ")) : null]);
}

// How repeats of the same trajectories differ.
function spread() {
  const { tsr, flips, ids } = RUN.spread;
  if (!tsr && flips === undefined) return null;
  return card("Repeats", "the same trajectories, asked again",
    [tsr?.some((value) => value !== null) && el("div", { class: "ceiling" }, tsr.map((value, index) => el("div", null, el("b", null, value === null ? "\u2013" : one(value), value !== null && el("small", null, "%")), el("span", null, "TSR, repeat " + (index + 1))))),
    flips !== undefined && el("p", { class: "note" }, STATIC ? plural(flips, "step matches", "steps match") + " in some repeats and not in others." : flips ? plural(flips, "trajectory is", "trajectories are") + " solved by some repeats and not by others:" : "Every repeat solves the same trajectories."),
    flips && !STATIC ? el("p", { class: "fliplist" }, ids.map((id) => PLACE.has(id + "\n0") && el("a", { class: "chip", href: linkTo(PLACE.get(id + "\n0"), 0) }, visible(id))), ids.length < flips && " and " + num(flips - ids.length) + " more") : null]);
}

function diagnostic() {
  const d = RUN.diag;
  if (d.steps === undefined) return null;
  return card("After the first mismatch", "all steps of the expert's recordings, with the model's own history; never part of the headline",
    el("div", { class: "ceiling" }, [["step accuracy", d.step_accuracy], ["type accuracy", d.type_accuracy]].filter((pair) => pair[1] !== undefined).map(([name, value]) =>
      el("div", null, el("b", null, one(value), el("small", null, "%")), el("span", null, name + " over " + plural(d.steps, "step"))))));
}

function title() {
  const protocol = ONLINE ? "online" : STATIC ? plural(RUN.steps, "step") + ", each asked alone" : RUN.diagnostic ? "semi-online, continuing after mismatches" : "semi-online";
  const parts = [plural(RUN.n, ONLINE ? "task" : "trajectory", ONLINE ? "tasks" : "trajectories"), protocol, RUN.profile && "profile " + visible(RUN.profile), RUN.adapter && "adapter " + visible(RUN.adapter), RUN.repeats > 1 && RUN.repeats + " repeats"];
  return el("div", { class: "title" }, el("p", { class: "eyebrow" }, "Suite ", el("b", null, visible(RUN.suite))),
    el("h1", null, visible(RUN.model)), el("p", { class: "lead" }, parts.filter(Boolean).join(" \u00b7 ")));
}

function charts() {
  const c = RUN.charts;
  return el("div", { class: "cards" },
    c.first_failure?.length && firstFailures(c.first_failure), c.by_length?.length && byLength(c.by_length),
    c.groups?.map(byGroup), c.by_action?.length && byAction(c.by_action), c.reasons?.length && reasons(c.reasons),
    c.confusion?.length && confusion(c.confusion), usage(), el("div", { class: "stack" }, ceiling(), spread(), diagnostic()));
}

function drawOverview() {
  byId("overview").append(title(), ...[banner()].filter(Boolean),
    el("div", { class: "metrics" }, RUN.headline.map((row, index) => metric(row, index === 0))), tiles(), facts(), charts(), listSection());
}

function drawBar() {
  byId("bar").append(
    el("button", { type: "button", class: "brand", "aria-label": "Overview", on: { click: home } }, el("span", { class: "logo", "aria-hidden": "true" }), "sopbench"),
    el("span", { class: "runname" }, visible(RUN.run)),
    el("nav", { "aria-label": "Page" },
      el("button", { type: "button", on: { click: () => { home(); toList(); } } }, "Trajectories"),
      el("button", { type: "button", class: "key-button", "aria-label": "Keyboard help", on: { click: help } }, "?")));
}
