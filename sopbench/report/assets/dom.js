// Building nodes. Text from the run reaches the page through text nodes and attributes only, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, kids) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.setAttribute("class", value);
    else if (name === "on") for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    else if (name === "vars") for (const [key, text] of Object.entries(value)) node.style.setProperty("--" + key, String(text));
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...kids.flat(3).filter((kid) => kid !== null && kid !== undefined && kid !== false));
  return node;
}

const el = (tag, props, ...kids) => fill(document.createElement(tag), props, kids);
const svg = (tag, props, ...kids) => fill(document.createElementNS(SVG, tag), props, kids);
const byId = (id) => document.getElementById(id);

// Characters that hide, reorder or command: control codes, bidirectional controls, invisible marks, tag characters.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;
const MAX_MARKED = 400;

function hiddenName(found) {
  const code = found.codePointAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return "\u27e8U+" + code.toString(16).toUpperCase().padStart(4, "0") + "\u27e9";
}

// One line of foreign text, with hidden characters spelled out.
const visible = (value) => String(value ?? "").replace(HIDDEN, hiddenName);

// Foreign text of any length as nodes: hidden characters are spelled out and marked.
function marked(value) {
  const text = String(value ?? "");
  const nodes = [];
  let last = 0;
  let count = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match[0] === "\r" && text[match.index + 1] === "\n") continue;
    if (++count > MAX_MARKED) break;
    nodes.push(text.slice(last, match.index));
    nodes.push(el("span", { class: "ctl", title: "a character that would not show" }, hiddenName(match[0])));
    last = match.index + match[0].length;
  }
  nodes.push(count > MAX_MARKED ? visible(text.slice(last)) : text.slice(last));
  return nodes;
}

let toastTimer = 0;
function toast(message) {
  const node = byId("toast");
  node.textContent = message;
  node.classList.add("on");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => node.classList.remove("on"), 1600);
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(what + " copied");
  } catch {
    const area = el("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    toast(document.execCommand("copy") ? what + " copied" : "The browser did not allow copying");
    area.remove();
  }
}

const copyButton = (text, what) =>
  el("button", { class: "copy", type: "button", "aria-label": "Copy " + what.toLowerCase(), on: { click: () => copy(text, what) } }, "Copy");

const icon = (name) => el("span", { class: "icon", "data-icon": name, "aria-hidden": "true" });
