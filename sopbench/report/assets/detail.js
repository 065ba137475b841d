// One trajectory: the film strip of its steps, and everything about the chosen one.

let shown = null; // {row, step}

function openDetail(row, index) {
  const step = Math.min(Math.max(index, 0), Math.max(0, row.steps.length - 1));
  const same = shown && shown.row === row;
  shown = { row, step };
  const root = byId("detail");
  if (!same) {
    root.replaceChildren(detailHead(row), el("div", { class: "bench" }, filmStrip(row), el("div", { id: "stepbox", class: "stepbox" })));
    if (row.end) root.querySelector(".bench").after(endNode(row.end));
  }
  byId("stepbox").replaceChildren(...(row.steps.length ? stepNodes(row, row.steps[step]) : [el("p", { class: "nothing" }, "No step of this trajectory was recorded yet.")]));
  for (const [i, item] of [...root.querySelectorAll(".frame")].entries()) {
    if (i === step) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  }
  const strip = root.querySelector(".strip");
  const current = root.querySelector('.frame[aria-current="step"]');
  if (!current) return;
  strip.scrollLeft = current.offsetLeft - (strip.clientWidth - current.offsetWidth) / 2;
  strip.scrollTop = current.offsetTop - (strip.clientHeight - current.offsetHeight) / 2;
}

function detailHead(row) {
  const outcome = OUTCOMES[row.out];
  const place = view.rows.indexOf(row);
  const near = (by, word, key) => {
    const next = place < 0 ? undefined : view.rows[place + by];
    return el("button", { type: "button", disabled: !next, title: word + " (" + key + ")", "aria-label": word, on: { click: () => next && goTo(next) } }, by < 0 ? "\u2191" : "\u2193");
  };
  return el("div", { class: "detailhead" },
    el("div", { class: "crumbs" }, el("button", { type: "button", class: "plain", on: { click: home } }, "\u2190 All " + (ONLINE ? "tasks" : "trajectories")),
      el("span", { class: "spacer" }), el("span", { class: "place" }, place < 0 ? "" : num(place + 1) + " of " + num(view.rows.length)),
      near(-1, "Previous trajectory", "k"), near(1, "Next trajectory", "j")),
    el("h1", { tabindex: "-1", id: "detail-title" }, el("bdi", null, marked(row.goal || row.id))),
    el("p", { class: "meta" }, el("span", { class: "pill " + row.out }, icon(outcome.icon), outcome.word),
      el("span", null, progressWords(row)),
      el("button", { type: "button", class: "hash", title: "Copy the id", on: { click: () => copy(row.id, "Id") } }, visible(row.id)),
      RUN.repeats > 1 && el("span", null, "repeat " + (row.rep + 1)),
      (row.tags || []).map(([name, value]) => el("span", { class: "tag" }, visible(name) + ": " + visible(value)))));
}

function filmStrip(row) {
  return el("nav", { class: "strip", "aria-label": "Steps" }, el("ol", null, row.steps.map((step, index) => {
    const state = STATES[step.st];
    const verb = brief(step.pred || step.gold);
    return el("li", null, el("button", { type: "button", class: "frame " + step.st + (step.diag ? " diag" : ""), "aria-label": "Step " + (index + 1) + ": " + state.word + (verb && ", " + verb), on: { click: () => goTo(row, index, true) } },
      screenNode(step, true), el("span", { class: "framefoot" }, el("span", { class: "step " + step.st, "data-icon": state.icon, "aria-hidden": "true" }), el("span", null, String(index + 1)), el("span", { class: "verb" }, verb))));
  })));
}

// Width and height of the stage; a step without a screen gets a phone's.
function shape(step) {
  const [w, h] = sizeOf(step) || [9, 20];
  return { w, h };
}

function stepNodes(row, step) {
  const go = (by, word, key) => {
    const next = row.steps[step.k + by];
    return el("button", { type: "button", disabled: !next, title: word + " (" + key + ")", "aria-label": word, on: { click: () => goTo(row, step.k + by, true) } }, by < 0 ? "\u2190" : "\u2192");
  };
  return [
    el("figure", { class: "stage", vars: shape(step) }, screenNode(step, false), legendNode(step)),
    el("div", { class: "about" },
      el("div", { class: "stepnav" }, el("h2", null, "Step " + (step.k + 1) + " of " + (row.steps.length)), el("span", { class: "spacer" }), go(-1, "Previous step", "left arrow"), go(1, "Next step", "right arrow")),
      verdictNode(step), compareNode(step), replyNode(step), notesNode(step), factsNode(step), attemptsNode(step)),
  ];
}

function legendNode(step) {
  const keys = [];
  if (step.gold?.coordinate) keys.push(["gold", "expert"]);
  if (step.best !== undefined) keys.push(["best", "target"]);
  if ((step.boxes || []).length > (step.best === undefined ? 0 : 1)) keys.push(["box", "other candidate boxes" + (step.more ? " (" + num(step.more) + " more not drawn)" : "")]);
  if (step.pred?.coordinate) keys.push(["pred", "model"]);
  return el("figcaption", null, keys.map(([cls, word]) => el("span", { class: "mapkey " + cls }, word)));
}

function verdictNode(step) {
  const state = STATES[step.st];
  const why = step.st === "not_scored" ? reasonWords(step.error?.reason) : step.st === "unreached" ? "the episode ended before this step" : step.st === "acted" ? "" : reasonWords(step.reason || (step.parse && "parse:" + step.parse.reason));
  const code = step.st === "not_scored" ? step.error?.reason : step.reason;
  const detail = step.error?.detail || step.parse?.detail;
  return el("div", { class: "verdict " + step.st }, icon(state.icon), el("div", null,
    el("p", null, el("strong", null, state.word), why && ": " + why, code && el("code", null, visible(code))),
    step.diag && el("p", { class: "small" }, "Diagnostic: this step comes after the first mismatch and does not count in the headline."),
    step.st === "mismatch" && step.tm && el("p", { class: "small" }, "The type of the action is right."),
    detail && el("p", { class: "small foreign" }, marked(detail))));
}

function actionCard(who, action, cls, empty) {
  const [verb, rest] = actionWords(action);
  return el("div", { class: "action " + cls }, el("h3", null, el("span", { class: "mapkey " + cls }), who),
    action ? [el("p", { class: "verb" }, verb), rest && el("p", { class: "rest" }, el("bdi", null, rest))] : el("p", { class: "none" }, empty));
}

function compareNode(step) {
  const none = step.st === "unreached" ? "not asked" : step.st === "not_scored" ? "no reply" : "no action could be read";
  const cards = [];
  if (!ONLINE) cards.push(actionCard("Expert", step.gold, "gold", "not known"));
  cards.push(actionCard("Model", step.pred, "pred", none));
  return el("div", { class: "compare" }, cards, apart(step), step.instruction && el("p", { class: "small instruction" }, el("b", null, "Instruction in the recording: "), el("bdi", null, marked(step.instruction))));
}

// How far the model's point is from the expert's, in unit coordinates (what most profiles measure) and pixels.
function apart(step) {
  const [a, b, size] = [step.gold?.coordinate, step.pred?.coordinate, sizeOf(step)];
  const lines = [];
  if (a && b && size && !step.gold.coordinate2 && !step.pred.coordinate2) {
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    lines.push("The points are " + Math.hypot(dx / size[0], dy / size[1]).toFixed(3) + " apart in unit coordinates: " + places(Math.abs(dx)) + " px across, " + places(Math.abs(dy)) + " px down.");
  }
  if (b && size && !inside(b, size)) lines.push("The model's point lies outside the screen.");
  return lines.length ? el("p", { class: "small" }, lines.join(" ")) : null;
}

function replyNode(step) {
  if (step.reply === undefined) return null;
  return el("div", { class: "reply" },
    step.thought && el("div", { class: "thought" }, el("h3", null, "Thought"), el("p", null, el("bdi", null, marked(step.thought)))),
    el("div", { class: "replyhead" }, el("h3", null, "Raw reply"), copyButton(step.reply, "Reply")),
    step.reply === "" ? el("p", { class: "none" }, "The reply is empty.") : el("pre", { tabindex: "0", "aria-label": "Raw reply" }, marked(step.reply)),
    step.cut && el("p", { class: "small" }, "The first " + num(step.reply.length) + " characters; " + num(step.cut) + " more stand in steps.jsonl."));
}

function notesNode(step) {
  return step.notes ? el("div", { class: "notes" }, el("h3", null, "Notes of the parser"), el("ul", null, step.notes.map((note) => el("li", null, marked(note))))) : null;
}

function factsNode(step) {
  const rows = [];
  const add = (name, value) => value !== undefined && value !== null && value !== "" && rows.push([name, value]);
  add("Latency", step.lat === undefined ? null : seconds(step.lat));
  add("Queued", step.queued ? seconds(step.queued) : null);
  add("Tokens in / out", step.pt === undefined && step.ct === undefined ? null : [step.pt, step.ct].map((n) => (n === undefined ? "\u2013" : num(n))).join(" / "));
  add("Finish reason", step.finish && visible(step.finish));
  add("Images sent", step.images === undefined || step.st === "unreached" ? null : String(step.images));
  add("Screen", step.size && step.size.join(" \u00d7 "));
  add("Sent as", step.sent && step.sent.join(" \u00d7 "));
  add("Model", step.model && visible(step.model));
  add("Endpoint", step.endpoint && visible(step.endpoint));
  add("Index in the data", String(step.k));
  add("Prompt hash", step.prompt && visible(step.prompt.slice(0, 12)));
  add("Written", step.at && visible(step.at));
  return el("dl", { class: "stepfacts" }, rows.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))));
}

function attemptsNode(step) {
  if (!step.attempts) return null;
  return el("div", { class: "attempts" }, el("h3", null, "Attempts"), el("ol", null, step.attempts.map((attempt) =>
    el("li", null, el("b", null, attempt.error ? label(attempt.error) : "answered"), " after " + seconds(attempt.seconds ?? 0), attempt.waited ? ", waited " + seconds(attempt.waited) + " before" : "",
      el("span", { class: "small foreign" }, visible(attempt.endpoint), attempt.detail && [" \u2014 ", marked(attempt.detail)])))),
    step.left && el("p", { class: "small" }, plural(step.left, "more attempt") + " in steps.jsonl."));
}

function endNode(end) {
  return el("section", { class: "end card" }, el("h3", null, "How it ended"),
    el("p", null, end.score === undefined ? "The environment gave no verdict." : "The environment's verdict: " + places(end.score * 100) + " %."),
    el("p", null, end.said ? "The agent said: " + visible(end.said) + "." : "The agent did not say that it was done."),
    end.answers && el("ul", null, end.answers.map((answer) => el("li", null, marked(answer)))),
    end.error && el("p", { class: "foreign" }, el("b", null, label(end.error.reason)), " ", marked(end.error.detail)));
}
