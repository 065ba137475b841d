// How things are said: numbers, actions, reasons, outcomes.

const whole = new Intl.NumberFormat("en-US");
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const num = (value) => whole.format(value);
const one = (value) => value.toFixed(1);
const plural = (n, single, many) => num(n) + " " + (n === 1 ? single : many || single + "s");
const places = (value) => String(Math.round(value * 10) / 10);
const at = (point) => (point ? "(" + places(point[0]) + ", " + places(point[1]) + ")" : "(no point)");

function seconds(value) {
  if (value === null || value === undefined) return "\u2013";
  if (value < 1) return Math.round(value * 1000) + " ms";
  if (value < 120) return (value < 10 ? value.toFixed(2) : value.toFixed(1)) + " s";
  if (value < 7200) return Math.floor(value / 60) + " min " + Math.round(value % 60) + " s";
  return Math.floor(value / 3600) + " h " + Math.round((value % 3600) / 60) + " min";
}

function direction(from, to) {
  if (!from || !to) return "";
  const dx = to[0] - from[0];
  const dy = to[1] - from[1];
  if (!dx && !dy) return "nowhere";
  return Math.abs(dx) > Math.abs(dy) ? (dx > 0 ? "right" : "left") : dy > 0 ? "down" : "up";
}

const quoted = (text) => "\u201c" + visible(text ?? "") + "\u201d";

// The least that says what an action is, for a small picture.
const BRIEF = { click: "Tap", long_press: "Hold", swipe: "Swipe", type: "Type", open: "Open", answer: "Answer", key: "Key", wait: "Wait", terminate: "Finish" };
function brief(action) {
  if (!action) return "";
  if (action.action === "system_button") return visible(action.button ?? "");
  return Object.hasOwn(BRIEF, action.action) ? BRIEF[action.action] : label(action.action);
}

// An action as [verb, what with]. Coordinates are pixels of the original screen.
function actionWords(action) {
  if (!action) return ["No action", ""];
  const { coordinate: from, coordinate2: to, text, time } = action;
  switch (action.action) {
    case "click": return ["Tap", at(from)];
    case "long_press": return ["Long press", at(from) + (time === undefined ? "" : " for " + places(time) + " s")];
    case "swipe": return ["Swipe " + direction(from, to), at(from) + " \u2192 " + at(to)];
    case "type": return ["Type", quoted(text)];
    case "open": return ["Open app", quoted(text)];
    case "answer": return ["Answer", quoted(text)];
    case "key": return ["Key", visible(text)];
    case "system_button": return ["Press " + visible(action.button ?? "?"), ""];
    case "wait": return ["Wait", time === undefined ? "" : places(time) + " s"];
    case "terminate": return ["Finish", visible(action.status ?? "")];
    default: return [visible(action.action), ""];
  }
}

const REASONS = {
  wrong_type: "another kind of action than the expert's",
  outside_target: "the point misses the target",
  text_differs: "the text is not the expert's",
  empty_text: "the text is empty",
  direction: "the finger moves another way",
  button: "another button than the expert's",
  status: "another status than the expert's",
  key: "another key than the expert's",
  no_motion: "the finger does not move",
  not_played: "not asked yet: the run was interrupted or is still going",
  "said:success": "the agent said that it was done; the environment disagrees",
  "said:failure": "the agent gave up",
  "said:nothing": "the steps ran out",
  context_overflow: "the request is longer than the model's context",
  deadline: "no reply before the deadline",
  timeout: "the endpoint did not answer in time",
  connection: "the connection to the endpoint failed",
  rejected: "the endpoint refused the request",
  server: "the endpoint failed",
  rate_limited: "the endpoint asked to slow down until the end",
  bad_body: "the endpoint's answer was not what its protocol promises",
  screen: "the screen could not be read",
};

function reasonWords(reason) {
  if (!reason) return "";
  if (reason.startsWith("parse:")) return "the reply is no action (" + visible(reason.slice(6)).replaceAll("_", " ") + ")";
  return Object.hasOwn(REASONS, reason) ? REASONS[reason] : visible(reason).replaceAll("_", " ");
}

// A code such as `outside_target` as a short label.
const label = (code) => visible(code).replace(/^parse:/, "unreadable: ").replace(/^said:/, "agent said: ").replaceAll("_", " ");

const OUTCOMES = {
  success: { word: "Success", icon: "check" },
  failed: { word: "Failed", icon: "cross" },
  not_scored: { word: "Not scored", icon: "bang" },
};

const STATES = {
  match: { word: "Match", icon: "check" },
  mismatch: { word: "Mismatch", icon: "cross" },
  parse: { word: "Unreadable reply", icon: "ask" },
  not_scored: { word: "Not scored", icon: "bang" },
  unreached: { word: "Not reached", icon: "dot" },
  acted: { word: "Acted", icon: "play" },
};
