// A plot: axes, marks inside them, and a note at the pointer. Drawn as SVG, which needs no library.

const NEAR = 40; // pixels: as far from a mark its note is shown
const SPARE = 7; // pixels beyond the axes, for dots at their ends

/** The size of a plot, its margins and its axes. */
function layoutOf(width, height, margin, x, y) {
  return { width, height, margin: { l: 40, r: 10, t: TOP, b: BELOW, ...margin }, x, y };
}

/** From values to pixels of a plot. */
function pixels({ width, height, margin, x, y }) {
  const inside = { x: width - margin.l - margin.r, y: height - margin.t - margin.b };
  const part = (value, [low, high]) => (value - low) / (high - low);
  return {
    x: (value) => margin.l + inside.x * part(value, x.range),
    y: (value) => margin.t + inside.y * (1 - part(value, y.range)),
    sees: (value) => part(value, y.range) >= 0 && part(value, y.range) <= 1,
    left: margin.l,
    right: width - margin.r,
    top: margin.t,
    bottom: height - margin.b,
  };
}

/** The drawing of a plot: its axes, and marks that are cut off outside them. */
function plotOf(layout, marks) {
  const { width, height } = layout;
  const to = pixels(layout);
  const box = { x: to.left - SPARE, y: to.top - SPARE, width: to.right - to.left + 2 * SPARE };
  box.height = to.bottom - to.top + 2 * SPARE;
  const inside = drawing("svg", { ...box, viewBox: `${box.x} ${box.y} ${box.width} ${box.height}` }, ...marks);
  return drawing("svg", { width, height, "aria-hidden": "true" }, ...axesOf(layout, to), inside);
}

function axesOf({ x, y }, to) {
  const text = (place, { text: words, whole }, options) => {
    const title = words === whole ? [] : [drawing("title", {}, whole)]; // at the pointer
    return drawing("text", { ...place, fill: look().quiet, ...options }, words, ...title);
  };
  const lines = y.ticks.filter(() => y.grid).map(({ at }) => straight(to.left, to.y(at), to.right, to.y(at)));
  lines.push(...x.ticks.filter(() => x.grid).map(({ at }) => straight(to.x(at), to.top, to.x(at), to.bottom)));
  const beside = { "text-anchor": "end", "dominant-baseline": "central" };
  const left = y.ticks.map((tick) => text({ x: to.left - 6, y: to.y(tick.at) }, tick, { ...beside, class: "y-tick" }));
  const below = x.ticks.map((tick) => {
    const [at, down] = [to.x(tick.at), to.bottom + 6];
    if (!x.upright) return text({ x: at, y: down + 11 }, tick, { "text-anchor": "middle", class: "x-tick" });
    return text({ x: at, y: down }, tick, { ...beside, transform: `rotate(-90 ${at} ${down})`, class: "x-tick" });
  });
  return [...lines, ...left, ...below];
}

/** A straight line in the colour of the grid, or as asked. */
function straight(x1, y1, x2, y2, options = {}) {
  return drawing("line", { x1, y1, x2, y2, stroke: look().rule, "stroke-width": 1, ...options });
}

const dashed = (colour) => ({ stroke: colour, "stroke-width": 1.75, "stroke-dasharray": "6 4" });

/** A path along points in pixels. */
function path(points, options) {
  const steps = points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`);
  return drawing("path", { d: steps.join(""), fill: "none", "stroke-linejoin": "round", ...options });
}

/** A dot with a rim that sets it off, or as asked. */
function dot(x, y, r, colour, options = {}) {
  return drawing("circle", { cx: x, cy: y, r, fill: colour, ...options });
}

/** Put marks above a plot, in place of those of the diversity before. */
function drawAbove(node, { width, height }, marks) {
  const panel = node.parentElement;
  panel.querySelector(".above")?.remove();
  panel.append(drawing("svg", { class: "above", width, height, "aria-hidden": "true" }, ...marks));
}

/** At the pointer, the note of the nearest of some places: [x, y, text] each, in pixels of the plot. */
function showNotes(node, notesOf) {
  const note = element("div", { class: "note", hidden: true, "aria-hidden": "true" });
  node.parentElement.append(note);
  const hide = () => (note.hidden = true);
  const show = (event) => {
    const box = node.getBoundingClientRect();
    const at = [event.clientX - box.left, event.clientY - box.top];
    const far = ([x, y]) => Math.hypot(x - at[0], (y ?? at[1]) - at[1]);
    const nearest = notesOf().reduce((one, other) => (one && far(one) <= far(other) ? one : other), null);
    if (!nearest || far(nearest) > NEAR) return hide();
    const [x, y, text] = nearest;
    note.textContent = text;
    note.hidden = false;
    const start = Math.min(Math.max(x - note.offsetWidth / 2, 0), Math.max(node.clientWidth - note.offsetWidth, 0));
    note.style.left = `${start}px`;
    note.style.top = `${node.offsetTop + (y ?? at[1]) - note.offsetHeight - 10}px`;
  };
  node.addEventListener("pointermove", show);
  node.addEventListener("pointerdown", show);
  node.addEventListener("pointerleave", hide);
}
