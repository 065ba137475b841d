// Two metrics against each other. Fits were computed when the page was built; here they are drawn.

const DATA = JSON.parse(document.getElementById("data").textContent);
const NS = "http://www.w3.org/2000/svg";
const svg = (tag, props, ...kids) => fill(document.createElementNS(NS, tag), props, kids);
const AXES = new Map(DATA.axes.map((axis) => [axis.key, axis]));
const WORDS = { all: "all published rows", six: "the paper's six models", eight: "those six and two more", submitted: "submitted to these boards" };
const pick = { x: "", y: "", set: "all" };
const W = 720, H = 470, L = 58, R = 22, T = 18, B = 52;

const pairs = Object.keys(DATA.fits).map((key) => key.split("|"));
const fitOf = () => DATA.fits[pick.x + "|" + pick.y + "|" + pick.set];
const two = (span) => (span ? span[0].toFixed(2) + " to " + span[1].toFixed(2) : "not known");

function options(values, label) {
  return [...new Set(values)].map((value) => el("option", { value }, label(value)));
}

function selectFor(word, name, values, label) {
  const select = el("select", { "aria-label": word, "data-axis": name }, options(values, label));
  select.value = pick[name];
  select.addEventListener("change", () => {
    pick[name] = select.value;
    drawScatter();
    document.querySelector("#scatter-tools [data-axis='" + name + "']").focus();
  });
  return el("label", null, word, select);
}

const axisWords = (key) => AXES.get(key).label + " (" + AXES.get(key).kind + ")";

function settle() {
  const xs = pairs.map(([x]) => x);
  if (!xs.includes(pick.x)) pick.x = xs[0];
  const ys = pairs.filter(([x]) => x === pick.x).map(([, y]) => y);
  if (!ys.includes(pick.y)) pick.y = ys[0];
  const sets = pairs.filter(([x, y]) => x === pick.x && y === pick.y).map(([, , set]) => set);
  if (!sets.includes(pick.set)) pick.set = sets[0];
  document.getElementById("scatter-tools").replaceChildren(
    selectFor("Across", "x", xs, axisWords), selectFor("Up", "y", ys, axisWords), selectFor("Models", "set", sets, (set) => WORDS[set]));
}

function pointsOf() {
  const members = DATA.sets[pick.set];
  return DATA.points.filter((p) => p.submitted === (pick.set === "submitted") && pick.x in p.values && pick.y in p.values)
    .map((p) => ({ model: p.model, submitted: p.submitted, x: p.values[pick.x], y: p.values[pick.y], inside: !members || members.includes(p.model) }));
}

function range(values) {
  const top = Math.max(...values), bottom = Math.min(...values);
  const step = [1, 2, 5, 10, 20, 25].find((s) => (top - bottom) / s <= 6) || 25;
  return [Math.max(0, Math.floor((bottom - step * 0.3) / step) * step), Math.min(100, Math.ceil((top + step * 0.3) / step) * step), step];
}

function figure(points, found) {
  const [x0, x1, xs] = range(points.map((p) => p.x));
  const [y0, y1, ys] = range(points.map((p) => p.y));
  const px = (v) => L + ((v - x0) / (x1 - x0 || 1)) * (W - L - R);
  const py = (v) => H - B - ((v - y0) / (y1 - y0 || 1)) * (H - T - B);
  const nodes = [];
  for (let v = x0; v <= x1 + 1e-9; v += xs) nodes.push(svg("line", { class: "grid", x1: px(v), x2: px(v), y1: T, y2: H - B }), svg("text", { x: px(v), y: H - B + 18, "text-anchor": "middle" }, String(v)));
  for (let v = y0; v <= y1 + 1e-9; v += ys) nodes.push(svg("line", { class: "grid", x1: L, x2: W - R, y1: py(v), y2: py(v) }), svg("text", { x: L - 8, y: py(v) + 4, "text-anchor": "end" }, String(v)));
  if (found) {
    const ends = [x0, x1].map((v) => [v, found.intercept + found.slope * v]);
    for (const end of ends) {
      const kept = Math.min(y1, Math.max(y0, end[1]));
      if (kept !== end[1] && found.slope) { end[0] = (kept - found.intercept) / found.slope; end[1] = kept; }
    }
    nodes.push(svg("line", { class: "fit", x1: px(ends[0][0]), y1: py(ends[0][1]), x2: px(ends[1][0]), y2: py(ends[1][1]) }));
  }
  const boxes = points.map((p) => [px(p.x) - 7, py(p.y) - 7, 14, 14]);
  const free = ([x, y, w, h]) => x >= L && x + w <= W - 4 && y >= 2 && y + h <= H - B + 4 && boxes.every(([a, b, c, d]) => x + w <= a || a + c <= x || y + h <= b || b + d <= y);
  for (const p of points) {
    const [cx, cy] = [px(p.x), py(p.y)];
    const shape = p.inside ? svg("circle", { cx, cy, r: 6, class: "dot" + (p.submitted ? " submitted" : "") }) : svg("rect", { x: cx - 5, y: cy - 5, width: 10, height: 10, class: "dot out" });
    shape.append(svg("title", null, p.model + ": " + p.x.toFixed(1) + " and " + p.y.toFixed(1)));
    nodes.push(shape);
  }
  for (const p of [...points].sort((a, b) => b.x - a.x)) {
    const [cx, cy] = [px(p.x), py(p.y)];
    const width = p.model.length * 6.2 + 4;
    const places = [0, -12, 12, -24, 24, -36, 36].flatMap((dy) => [[cx + 9, cy - 7 + dy, width, 14], [cx - 9 - width, cy - 7 + dy, width, 14]]);
    const place = places.find(free);
    if (!place) continue; // no room: its name is in the table, and told by the point itself
    boxes.push(place);
    const right = place[0] > cx;
    nodes.push(svg("text", { x: right ? place[0] : place[0] + width, y: place[1] + 11, "text-anchor": right ? "start" : "end", class: "tag-text" }, p.model));
  }
  nodes.push(svg("text", { x: (L + W - R) / 2, y: H - 8, "text-anchor": "middle", class: "axis" }, axisWords(pick.x)));
  nodes.push(svg("text", { x: 16, y: (T + H - B) / 2, "text-anchor": "middle", class: "axis", transform: "rotate(-90 16 " + (T + H - B) / 2 + ")" }, axisWords(pick.y)));
  const label = axisWords(pick.y) + " over " + axisWords(pick.x) + ", " + points.length + " models; the table below has the numbers";
  return svg("svg", { viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": label }, nodes);
}

function facts(found, points) {
  if (!found) return [el("p", null, "Too few models have both numbers for a fit.")];
  const rows = [["models (n)", found.n], ["R\u00b2, 95 % interval", two(found.r2_ci)], ["R\u00b2, one model left out", two(found.without_one)], ["Spearman's \u03c1", found.rho.toFixed(2)], ["\u03c1, 95 % interval", two(found.rho_ci)]];
  const wide = !found.r2_ci || found.r2_ci[1] - found.r2_ci[0] > 0.4;
  const out = points.filter((p) => !p.inside).length;
  return [
    el("p", { class: "big" }, el("small", null, "R\u00b2 "), found.r2.toFixed(3)),
    el("dl", null, rows.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, String(value))))),
    wide && el("p", { class: "weak" }, "The interval is wide: these " + found.n + " models do not settle how well one number tells the other."),
    out > 0 && el("p", null, "Hollow squares: " + out + " models with both numbers that this fit leaves out."),
  ].filter(Boolean);
}

function table(points) {
  const head = el("tr", null, ["Model", axisWords(pick.x), axisWords(pick.y), "In the fit"].map((word) => el("th", { scope: "col" }, word)));
  const lines = [...points].sort((a, b) => b.y - a.y).map((p) => el("tr", null, el("th", { scope: "row" }, p.model), el("td", null, p.x.toFixed(1)), el("td", null, p.y.toFixed(1)), el("td", null, p.inside ? "yes" : "no")));
  return el("table", { class: "simple" }, el("thead", null, head), el("tbody", null, lines));
}

function drawScatter() {
  settle();
  const found = fitOf();
  const points = pointsOf();
  document.getElementById("scatter-figure").replaceChildren(figure(points, found));
  document.getElementById("scatter-facts").replaceChildren(...facts(found, points));
  document.getElementById("scatter-table").replaceChildren(table(points));
}

if (pairs.length) {
  const wanted = pairs.find(([x, y, set]) => x === "sop-androidcontrol.tsr" && y === "androidworld.success" && set === "all") || pairs[0];
  [pick.x, pick.y, pick.set] = wanted;
  drawScatter();
} else {
  document.getElementById("scatter").hidden = true;
}
