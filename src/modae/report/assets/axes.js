// What all plots share: size, margins that fit the labels, axes, hover labels.

const FONT = getComputedStyle(document.body).fontFamily;
const TICK_SIZE = 12;
const PLAIN = { displayModeBar: false, displaylogo: false, responsive: false, doubleClick: false, showTips: false };
const TOP = 9; // pixels above a plot: half a tick label
const LONGEST = 22; // characters of a tick label

const ruler = document.createElement("canvas").getContext("2d");

/** How many pixels wide a tick label is. */
function widthOf(text) {
  ruler.font = `${TICK_SIZE}px ${FONT}`;
  return ruler.measureText(text).width;
}

const widest = (texts) => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);

/** An axis that nobody can drag: on a phone the finger scrolls the page. */
function axis(options = {}) {
  return {
    fixedrange: true,
    automargin: false,
    zeroline: false,
    showline: false,
    ticks: "outside", // seen by nobody: they keep the labels off the plot
    ticklen: 4,
    tickcolor: "rgba(0,0,0,0)",
    ticklabeloverflow: "allow",
    gridcolor: look().rule,
    tickfont: { size: TICK_SIZE, color: look().quiet, family: FONT },
    ...options,
  };
}

/** The axis of diversity; at the phone's width there is room for few numbers. */
function diversityAxis(width, options = {}) {
  const [low, high] = extent(facts.diversities);
  const room = (high - low || 1) * 0.025;
  const dtick = high - low > 0 ? niceStep(high - low, Math.max(2, width / 70)) : 1;
  const ticks = steps(low, high, dtick);
  const marks = { tickmode: "array", tickvals: ticks, ticktext: ticks.map((value) => formatNumber(value)) };
  return axis({ range: [low - room, high + room], ...marks, showgrid: false, ...options });
}

/** A step of 1, 2 or 5 times a power of ten, for at most so many ticks. */
function niceStep(span, most) {
  const power = 10 ** Math.floor(Math.log10(span / most));
  return [1, 2, 5].map((step) => step * power).find((step) => span / step <= most) ?? 10 * power;
}

/** The multiples of a step from one number to another. */
function steps(low, high, step) {
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + 1e-9 * Math.abs(high); at += 1) {
    found.push(Number((at * step).toPrecision(10)));
  }
  return found;
}

/** A vertical axis of numbers and the margin that they need. */
function numberAxis(ends, unit, height) {
  const [low, high] = ends.map((value) => scaled(value, unit));
  const dtick = niceStep(high - low || 1, Math.max(2, height / 48));
  const ticks = steps(low, high, dtick);
  const labels = ticks.map((value) => formatNumber(value));
  const room = 0.015 * (high - low || 1); // so that a line at the end of the range is seen as a whole
  const range = [low - room, high + room];
  const found = axis({ range, tickmode: "array", tickvals: ticks, ticktext: labels });
  return { axis: found, margin: widest(labels) + 8 };
}

/** Names along an axis, at 0, 1, 2...: as many as there is room for, each `step` pixels from the next. */
function nameTicks(names, step, needed, length = LONGEST) {
  const every = Math.max(1, Math.ceil(needed / Math.max(step, 1e-6)));
  const places = names.map((_, place) => place).filter((place) => place % every === 0);
  const labels = places.map((place) => shortened(names[place], length));
  return { tickmode: "array", tickvals: places, ticktext: labels.map(literal), labels };
}

/** Names beside the rows of a plot and the margin that they need: at most 40 % of the width. */
function rowAxis(names, width, height, options = {}) {
  const length = Math.max(4, Math.min(LONGEST, Math.floor((0.4 * width) / 7.5)));
  const { labels, ...ticks } = nameTicks(names, height / Math.max(1, names.length), TICK_SIZE + 2, length);
  return { axis: axis({ ...ticks, showgrid: false, ...options }), margin: widest(labels) + 8 };
}

/** Names and the label of their axis, without saying a word twice: "module 1", "module 2"... are 1, 2... */
function axisWords(names, label) {
  const [word] = String(names[0] ?? "").split(" ", 1);
  const numbered = word && names.every((name) => /^\S+ \d+$/.test(name) && name.startsWith(`${word} `));
  if (!numbered || (label && !label.toLowerCase().includes(word.toLowerCase()))) return { names, label };
  return { names: names.map((name) => name.slice(word.length + 1)), label: label || word };
}

/** Names below the columns of a plot, upright where they do not fit side by side, and the margin for them. */
function columnAxis(names, width, options = {}) {
  const step = width / Math.max(1, names.length);
  const flat = widest(names.map((name) => shortened(name, LONGEST))) + 6;
  const short = flat <= 34; // numbers and the like: leave some out rather than turn them
  if (flat <= step || short) {
    const { labels, ...ticks } = nameTicks(names, step, flat);
    return { axis: axis({ ...ticks, showgrid: false, tickangle: 0, ...options }), margin: 26 };
  }
  const { labels, ...ticks } = nameTicks(names, step, TICK_SIZE + 3, 16);
  return { axis: axis({ ...ticks, showgrid: false, tickangle: -90, ...options }), margin: widest(labels) + 14 };
}

/** The layout of a plot. */
function layoutOf(width, height, margin, options = {}) {
  return {
    width,
    height,
    margin: { l: 40, r: 10, t: TOP, b: 26, pad: 0, ...margin },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    dragmode: false,
    hovermode: "closest",
    font: { family: FONT, size: TICK_SIZE, color: look().ink },
    hoverlabel: {
      bgcolor: look().ink,
      bordercolor: look().ink,
      font: { color: look().paper, family: FONT, size: 13 },
      align: "left",
      namelength: 0,
    },
    ...options,
  };
}
