// Marks of the slider above plots that stay: drawn by hand, because that takes no time at all.

/** From values to pixels of a plot, as its layout has them. */
function pixels({ width, height, margin, xaxis, yaxis }) {
  const inside = { x: width - margin.l - margin.r, y: height - margin.t - margin.b };
  const part = (value, [low, high]) => (value - low) / (high - low);
  return {
    x: (value) => margin.l + inside.x * part(value, xaxis.range),
    y: (value) => margin.t + inside.y * (1 - part(value, yaxis.range)),
    sees: (value) => part(value, yaxis.range) >= 0 && part(value, yaxis.range) <= 1,
    top: margin.t,
    bottom: height - margin.b,
  };
}

/** Put these drawings above a plot, in place of those of the diversity before. */
function drawAbove(node, layout, drawings) {
  const panel = node.parentElement;
  panel.querySelector(".above")?.remove();
  const { width, height } = layout;
  panel.append(drawing("svg", { class: "above", width, height, "aria-hidden": "true" }, ...drawings));
}

/** A vertical line at a diversity. */
function uprightLine(to, value) {
  const at = to.x(value);
  return drawing("line", { x1: at, x2: at, y1: to.top, y2: to.bottom, stroke: look().ink, "stroke-width": 1.5 });
}

/** A dot on a line, with a rim that sets it off. */
function dot(to, x, y, colour) {
  return drawing("circle", { cx: to.x(x), cy: to.y(y), r: 5.5, fill: colour, stroke: look().paper, "stroke-width": 2 });
}

/** A frame between two diversities: dark and bright, so that it shows on every colour. */
function frame(to, from, until) {
  const [x, end] = [to.x(from), to.x(until)];
  const box = { x, y: to.top, width: end - x, height: to.bottom - to.top, fill: "none" };
  const stroke = (colour, width) => drawing("rect", { ...box, stroke: colour, "stroke-width": width });
  return [stroke(look().paper, 5), stroke(look().accent, 2)];
}
