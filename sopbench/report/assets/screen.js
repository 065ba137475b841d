// A step's screen with what the expert aimed at and what the model did drawn over it, in pixels of the original screen.

// Where a point is drawn: on the screen, or at its edge where the model pointed outside.
const clamp = (value, top) => Math.min(Math.max(value, 0), top);
const inside = (point, size) => point[0] >= 0 && point[1] >= 0 && point[0] <= size[0] && point[1] <= size[1];

// The expert's arrow is the broader one and lies below, so that both show where they coincide.
function arrow(from, to, size, unit, cls) {
  const a = [clamp(from[0], size[0]), clamp(from[1], size[1])];
  const b = [clamp(to[0], size[0]), clamp(to[1], size[1])];
  const long = Math.hypot(b[0] - a[0], b[1] - a[1]);
  if (long < 1) return [svg("circle", { class: cls + " casing", cx: a[0], cy: a[1], r: unit * 2.2 }), svg("circle", { class: cls, cx: a[0], cy: a[1], r: unit * 2.2 })];
  const dot = cls === "gold" ? 3 : 1.7;
  const [ux, uy] = [(b[0] - a[0]) / long, (b[1] - a[1]) / long];
  const head = Math.min(unit * (cls === "gold" ? 8 : 4.5), long * 0.6);
  const neck = [b[0] - ux * head, b[1] - uy * head];
  const wing = head * 0.55;
  const tip = [b, [neck[0] - uy * wing, neck[1] + ux * wing], [neck[0] + uy * wing, neck[1] - ux * wing]].map((p) => p.join(",")).join(" ");
  const line = { x1: a[0], y1: a[1], x2: neck[0], y2: neck[1] };
  return [svg("line", { class: cls + " shaft casing", ...line }), svg("polygon", { class: cls + " tip casing", points: tip }), svg("circle", { class: cls + " casing", cx: a[0], cy: a[1], r: unit * dot }),
    svg("line", { class: cls + " shaft", ...line }), svg("polygon", { class: cls + " tip", points: tip }), svg("circle", { class: cls + " start", cx: a[0], cy: a[1], r: unit * dot })];
}

// The expert is a ring, the model a diamond: told apart without colour.
function ring(point, size, unit) {
  const at = { cx: clamp(point[0], size[0]), cy: clamp(point[1], size[1]) };
  return [svg("circle", { class: "gold casing", ...at, r: unit * 4 }), svg("circle", { class: "gold", ...at, r: unit * 4 }), svg("circle", { class: "gold dot", ...at, r: unit * 1.1 })];
}

function diamond(point, size, unit) {
  const [x, y] = [clamp(point[0], size[0]), clamp(point[1], size[1])];
  const r = unit * 3;
  return svg("polygon", { class: "pred solid" + (inside(point, size) ? "" : " outside"), points: [[x, y - r], [x + r, y], [x, y + r], [x - r, y]].map((p) => p.join(",")).join(" ") });
}

function overlay(step, size, small) {
  const unit = Math.sqrt(size[0] * size[1]) / (small ? 48 : 110);
  const marks = [];
  if (!small) {
    for (let i = (step.boxes || []).length - 1; i >= 0; i--) {
      const [x1, y1, x2, y2] = step.boxes[i];
      if (i !== step.best) marks.push(svg("rect", { class: "box", x: x1, y: y1, width: Math.max(0, x2 - x1), height: Math.max(0, y2 - y1) }));
    }
    if (step.best !== undefined) {
      const [x1, y1, x2, y2] = step.boxes[step.best];
      const place = { x: x1, y: y1, width: x2 - x1, height: y2 - y1, rx: unit };
      marks.push(svg("rect", { class: "box casing", ...place }), svg("rect", { class: "box best", ...place }));
    }
  }
  const { gold, pred } = step;
  if (gold?.coordinate) marks.push(gold.coordinate2 ? arrow(gold.coordinate, gold.coordinate2, size, unit, "gold") : ring(gold.coordinate, size, unit));
  if (pred?.coordinate) marks.push(pred.coordinate2 ? arrow(pred.coordinate, pred.coordinate2, size, unit, "pred") : diamond(pred.coordinate, size, unit));
  return svg("svg", { class: "overlay", viewBox: "0 0 " + size[0] + " " + size[1], preserveAspectRatio: "none", "aria-hidden": "true" }, marks);
}

function missingWords(step) {
  const fault = pictureFault(step.screen);
  if (fault) return fault;
  if (ONLINE) return "No screen was sent with this step.";
  return DATA.recordings ? "This step has no screen." : "The recordings were not found when this report was made; give them with --data FILE --images DIR.";
}

function screenNode(step, small) {
  const size = sizeOf(step);
  const url = step.screen === undefined ? null : pictureUrl(step.screen);
  const frame = el("span", { class: "screen" + (url ? "" : " missing"), vars: { w: size ? size[0] : 9, h: size ? size[1] : 20 } });
  const gone = (words) => el("span", { class: "placeholder" }, icon("bang"), small ? null : el("span", null, el("b", null, "No picture of this screen"), visible(words)));
  if (url) {
    const picture = el("img", { src: url, alt: small ? "" : "Screen of step " + (step.k + 1), loading: small ? "lazy" : "eager", decoding: "async", draggable: "false" });
    picture.addEventListener("error", () => { picture.replaceWith(gone("Its file is not beside this page.")); frame.classList.add("missing"); });
    frame.append(picture);
  } else frame.append(gone(missingWords(step)));
  if (size) frame.append(overlay(step, size, small));
  return frame;
}
