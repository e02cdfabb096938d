// A figure: title, legend, plots, numbers. Only what is in sight is drawn; the rest is drawn when it comes.

const KINDS = { curves, map, bars, matrix, densities, scatter, images, table, cards };
const PAPER = { half: 308, whole: 640, panel: 200 }; // pixels of a plot in print
const FRAME = 24; // milliseconds of drawing between two pictures of the screen

const charts = new Map(); // figure -> what draws it
const drawn = new WeakMap(); // place of a plot -> its layout, and the notes at the pointer
const inSight = new Set();
const isStill = (figure) => Number(Boolean(charts.get(figure).kind.still));
let queue = [];
let nextFrame = 0;

const sight = new IntersectionObserver(
  (entries) =>
    entries.forEach(({ target, isIntersecting }) => {
      if (isIntersecting) inSight.add(target);
      else inSight.delete(target);
      if (isIntersecting) draw(target);
    }),
  { rootMargin: "80px 0px" },
);

const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => inSight.has(target) && draw(target)));

/** The figure of a chart, empty until it comes in sight. */
function figureOf(chart) {
  const kind = KINDS[chart.kind];
  const figure = element("figure", { class: `chart ${chart.kind}`, "data-kind": chart.kind });
  const said = chart.said || typeof chart.summary === "string" ? element("p", { class: "said" }) : null;
  figure.append(element("figcaption", {}, chart.title, said));
  const plots = kind.fill ? [] : plotsOf(figure, kind, chart);
  if (kind.fill) kind.fill(figure, chart);
  charts.set(figure, { kind, chart, plots });
  sight.observe(figure);
  sizes.observe(figure);
  return figure;
}

/** Places for the plots of a chart, with the texts around them. */
function plotsOf(figure, kind, chart) {
  const titles = kind.panels ? kind.panels(chart) : [null];
  const plots = titles.map(() => element("div", { class: "plot" }));
  const panels = titles.map((title, at) => {
    const heading = title === null ? null : element("p", { class: "panel-title" }, title);
    return element("div", { class: "panel" }, heading, plots[at]);
  });
  figure.append(
    element("ul", { class: "legend", hidden: true }),
    element(
      "div",
      { class: "drawing" },
      element("p", { class: "y-label" }, kind.yLabel(chart)),
      element("div", { class: "canvas", role: "img" }, ...panels),
      element("p", { class: "x-label" }, kind.xLabel(chart)),
    ),
    numbersOf(kind, chart),
  );
  return plots;
}

/** Draw a figure unless it shows this diversity, at this width, in these colours already. */
function draw(figure) {
  if (!charts.has(figure)) return; // it left the page while it waited
  const { kind, chart, plots } = charts.get(figure);
  const index = Number(document.body.dataset.index);
  const onPaper = document.documentElement.dataset.theme === "paper";
  const width = plots.length === 0 ? 0 : onPaper ? paperWidth(figure) : plots[0].clientWidth;
  const scene = `${width} ${look().paper}`;
  if (figure.dataset.drawn === `${index} ${scene}` || (plots.length && width < 40)) return;
  const shown = chart.fixed ? 0 : index;
  if (kind.move) kind.move(figure, chart, shown);
  else plots.forEach((node, place) => drawPlot(node, kind, chart, { index: shown, width, place, scene }));
  if (figure.dataset.scene !== scene && kind.legend) fillLegend(figure, kind.legend(chart));
  figure.dataset.scene = scene;
  figure.dataset.drawn = `${index} ${scene}`;
}

/** How wide a plot is in print, where nothing can be measured. */
function paperWidth(figure) {
  if (figure.dataset.kind === "densities") return PAPER.panel;
  const alone = figure.parentElement.dataset.beside === "1" && charts.get(figure).kind.still;
  return alone || figure.classList.contains("wide") ? PAPER.whole : PAPER.half;
}

/** One plot. Where the slider only moves marks above it, the plot itself is drawn once. */
function drawPlot(node, kind, chart, { index, width, place, scene }) {
  if (!kind.still || node.dataset.scene !== scene) {
    const plot = kind.plot(chart, index, width, kind.height(chart, width), place);
    node.replaceChildren(plotOf(plot.layout, plot.marks));
    centreLabel(node, plot.layout.margin);
    if (!drawn.has(node)) {
      showNotes(node, () => drawn.get(node).notes);
      if (kind.above && !chart.x) node.classList.add("clickable");
      if (kind.above && !chart.x) node.addEventListener("pointerdown", goToPointer);
    }
    drawn.set(node, plot);
    node.dataset.scene = scene;
  }
  const { layout } = drawn.get(node);
  if (kind.above) drawAbove(node, layout, kind.above(chart, index, layout));
}

/** The label below belongs to the middle of the plot, not of the figure. */
function centreLabel(node, margin) {
  const { style } = node.closest(".drawing");
  style.setProperty("--left", `${margin.l}px`);
  style.setProperty("--right", `${margin.r}px`);
}

/** A click on a chart against diversity moves the slider there. A finger rather wants to scroll. */
function goToPointer(event) {
  if (event.pointerType !== "mouse" || event.button !== 0) return;
  const node = event.currentTarget;
  const to = pixels(drawn.get(node).layout);
  const at = event.clientX - node.getBoundingClientRect().left;
  const distances = facts.diversities.map((value) => Math.abs(to.x(value) - at));
  goTo(distances.indexOf(Math.min(...distances)));
}

function fillLegend(figure, entries) {
  const list = figure.querySelector(".legend");
  list.replaceChildren(...entries.map(legendEntry));
  list.hidden = entries.length === 0;
}

function legendEntry(entry) {
  if (entry.mark !== "ramp") return element("li", {}, sample(entry), entry.name);
  const ramp = element("span", { class: "ramp" });
  ramp.style.backgroundImage = `linear-gradient(to right, ${look().map.join(", ")})`;
  return element("li", {}, entry.from, ramp, entry.to);
}

/** A small drawing of how something looks in the chart. */
function sample({ colour, mark }) {
  const line = { x1: 0, y1: 6, x2: 22, y2: 6, stroke: colour, "stroke-width": 2.5 };
  const marks = {
    line: () => drawing("line", line),
    dashes: () => drawing("line", { ...line, "stroke-dasharray": "6 4" }),
    ring: () => drawing("circle", { cx: 11, cy: 6, r: 4.5, fill: "none", stroke: colour, "stroke-width": 2 }),
    area: () => drawing("rect", { x: 5, y: 0, width: 12, height: 12, rx: 2, fill: colour }),
  };
  return drawing("svg", { width: 22, height: 12, viewBox: "0 0 22 12", "aria-hidden": "true" }, marks[mark]());
}

/** Everything that depends on the diversity, in all figures: texts at once, drawings where somebody looks. */
function moveFigures() {
  const index = Number(document.body.dataset.index);
  for (const [figure, { kind, chart }] of charts) {
    const named = figure.querySelector('[role="img"]') ?? figure.querySelector(".scroll");
    named.setAttribute("aria-label", summaryAt(chart, index) || chart.title);
    figure.querySelector(".said")?.replaceChildren(summaryAt(chart, index));
    const details = figure.querySelector("details");
    if (details) fillNumbers(details, kind, chart);
  }
  // Those that are cheap first.
  queue = [...inSight].sort((one, other) => isStill(other) - isStill(one));
  drawQueue();
}

/** Draw what waits, as much as fits between two pictures of the screen: the slider never sticks. */
function drawQueue() {
  cancelAnimationFrame(nextFrame);
  const start = performance.now();
  while (queue.length && performance.now() - start < FRAME) draw(queue.shift());
  if (queue.length) nextFrame = requestAnimationFrame(drawQueue);
}

/** In other colours, or on paper: on paper everything is in sight. */
function redrawFigures() {
  const all = document.documentElement.dataset.theme === "paper" ? charts.keys() : inSight;
  [...all].forEach(draw);
}

/** Forget figures that leave the page. */
function dropFigures(parent) {
  parent.querySelectorAll("figure").forEach((figure) => {
    sight.unobserve(figure);
    sizes.unobserve(figure);
    inSight.delete(figure);
    charts.delete(figure);
  });
}
