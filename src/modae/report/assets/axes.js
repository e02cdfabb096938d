// Axes of plots: ranges, ticks that fit, and the margins that their labels need.

const TICK_SIZE = 12; // pixels, as in the style sheet
const TOP = 9; // pixels above a plot: half a tick label
const BELOW = 26; // pixels below it: a tick label
const LONGEST = 24; // characters of a tick label

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = `${TICK_SIZE}px ${getComputedStyle(document.body).fontFamily}`;

/** How many pixels wide the widest of some tick labels is. */
const widest = (texts) => texts.reduce((most, text) => Math.max(most, ruler.measureText(text).width), 0);

/** An axis: its range, where its ticks are, what they say and mean, and whether lines of the plot begin there. */
function axis(range, values, texts, options = {}, wholes = texts) {
  const ticks = values.map((at, place) => ({ at, text: texts[place], whole: wholes[place] }));
  return { range, ticks, grid: false, ...options };
}

/** An axis of numbers from one end to the other, with a tick for every so many pixels. */
function numberAxis(ends, unit, pixels, every, options = {}) {
  const [low, high] = ends.map((value) => scaled(value, unit));
  const span = high - low || 1;
  const ticks = steps(low, high, niceStep(span, Math.max(2, pixels / every)));
  const room = (options.room ?? 0.015) * span; // so that a line at the end of the range is seen as a whole
  return axis([low - room, high + room], ticks, ticks.map((value) => formatNumber(value)), options);
}

/** The axis of diversity. */
const diversityAxis = (width) => numberAxis(extent(facts.diversities), "", width, 70, { room: 0.025 });

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

/** How many pixels the tick labels beside a plot need. */
const besideOf = ({ ticks }) => widest(ticks.map(({ text }) => text)) + 8;

/** Names along an axis, at 0, 1, 2...: as many as there is room for, each `step` pixels from the next. */
function nameAxis(names, range, step, needed, length, options = {}) {
  const every = Math.max(1, Math.ceil(needed / Math.max(step, 1e-6)));
  const places = names.map((_, place) => place).filter((place) => place % every === 0);
  const wholes = places.map((place) => String(names[place]));
  return axis(range, places, wholes.map((name) => shortened(name, length)), options, wholes);
}

/** Names beside the rows of a plot, the first above: at most 40 % of the width. */
function rowAxis(names, width, height) {
  const length = Math.max(4, Math.min(LONGEST, Math.floor((0.4 * width) / 7.5)));
  return nameAxis(names, [names.length - 0.5, -0.5], height / Math.max(1, names.length), TICK_SIZE + 2, length);
}

/** Names below the columns of a plot, upright where they do not fit side by side, and the room for them. */
function columnAxis(names, width, range = [-0.5, names.length - 0.5]) {
  const step = width / Math.max(1, names.length);
  const flat = widest(names.map((name) => shortened(name, LONGEST))) + 6;
  const short = flat <= 34; // numbers and the like: leave some out rather than turn them
  if (flat <= step || short) return { axis: nameAxis(names, range, step, flat, LONGEST), margin: BELOW };
  const found = nameAxis(names, range, step, TICK_SIZE + 3, LONGEST, { upright: true });
  return { axis: found, margin: besideOf(found) + 6 };
}

/** Names and the label of their axis, without saying a word twice: "module 0", "module 1"... are 0, 1... */
function axisWords(names, label) {
  const [word] = String(names[0] ?? "").split(" ", 1);
  const numbered = word && names.every((name) => /^\S+ \d+$/.test(name) && name.startsWith(`${word} `));
  if (!numbered || (label && !label.toLowerCase().includes(word.toLowerCase()))) return { names, label };
  return { names: names.map((name) => name.slice(word.length + 1)), label: label || word };
}
