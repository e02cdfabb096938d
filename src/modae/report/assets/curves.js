// Lines against diversity, or against an axis of their own: bands of error, dashed levels, and a dot on each line where
// the slider is.

const LEVEL_ORDER = 3; // levels take colours of the same list, after the lines
const MOST_DOTS = 25; // of a line: more would hide it

const curves = {
  still: true, // the slider only moves marks above it
  height: () => 300,
  xLabel: (chart) => (chart.x ? withUnit(chart.x_label, chart.unit) : "diversity"),
  yLabel: (chart) => withUnit(chart.y_label, chart.unit),

  legend(chart) {
    const lines = chart.lines.map((line, place) => ({ name: line.name, colour: lineColour(place), mark: "line" }));
    const levels = levelsOf(chart).map((level, place) => ({
      name: `${level.name}: ${formatNumber(level.value, chart.unit, 3)}`,
      colour: levelColour(chart, place),
      mark: "dashes",
    }));
    const ring = hasMark(chart) ? [{ name: "chosen diversity", colour: lineColour(0), mark: "ring" }] : [];
    return [...lines, ...levels, ...diagonalEntry(chart), ...ring];
  },

  plot(chart, _, width, height) {
    const y = numberAxis(chart.y_range ?? curveRange(chart), chart.unit, height, 48, { grid: true });
    const margin = { l: besideOf(y) };
    const inside = width - margin.l;
    const x = chart.x ? numberAxis(chart.x_range, chart.unit, inside, 70) : diversityAxis(inside);
    const layout = layoutOf(width, height, margin, x, y);
    const to = pixels(layout);
    const marks = [
      ...levelsOf(chart).flatMap((level, place) => levelMarks(chart, level, place, to)),
      ...diagonalMarks(chart, to),
      ...chart.lines.flatMap((line, place) => bandMarks(chart, line, place, to)),
      ...chart.lines.flatMap((line, place) => lineMarks(chart, line, place, to)),
      ...ringMarks(chart, to),
    ];
    return { layout, marks, notes: chart.lines.flatMap((line) => lineNotes(chart, line, to)) };
  },

  above(chart, index, layout) {
    if (chart.x || facts.diversities.length < 2) return [];
    const to = pixels(layout);
    const at = to.x(facts.diversities[index]);
    const rim = { stroke: look().paper, "stroke-width": 2 };
    const dots = chart.lines.flatMap((line, place) => {
      const value = scaled(line.values[index], chart.unit);
      return value === null || !to.sees(value) ? [] : [dot(at, to.y(value), 5.5, lineColour(place), rim)];
    });
    return [straight(at, to.top, at, to.bottom, { stroke: look().ink, "stroke-width": 1.5 }), ...dots];
  },

  numbers(chart, index) {
    if (chart.x) return [pointNumbers(chart)];
    const entries = [
      ...chart.lines.map((line) => [line.name, line.values[index], line.error?.[index]]),
      ...(chart.levels ?? []).map((level) => [level.name, level.value, level.error]),
    ];
    const errors = entries.some(([, , error]) => error !== null && error !== undefined);
    const rows = entries.map(([name, value, error]) => ({
      name,
      cells: [formatNumber(value, chart.unit), ...(errors ? [formatNumber(error, chart.unit)] : [])],
    }));
    return [{ corner: "", columns: [chart.y_label, ...(errors ? ["± error"] : [])], rows }];
  },
};

/** Lines against an axis of their own, point by point. */
function pointNumbers(chart) {
  const rows = chart.x.map((x, at) => ({
    name: formatNumber(x, chart.unit),
    cells: [
      ...chart.lines.map((line) => formatNumber(line.values[at], chart.unit)),
      ...(chart.counts ? [formatNumber(chart.counts[at])] : []),
    ],
  }));
  return { corner: chart.x_label, columns: [...chart.lines.map((line) => line.name), ...(chart.counts ? ["rows"] : [])], rows };
}

const alongOf = (chart) => chart.x?.map((value) => scaled(value, chart.unit)) ?? facts.diversities;
const levelsOf = (chart) => (chart.levels ?? []).filter((level) => level.value !== null);
const hasMark = (chart) => chart.mark !== null && chart.mark !== undefined && chart.lines.length > 0;

/** Levels have colours that no line of the chart has. */
const levelColour = (chart, place) => lineColour(Math.max(chart.lines.length, LEVEL_ORDER) + place);

/** Where both coordinates are equal, as a dashed line with its meaning. */
const diagonalEntry = ({ diagonal }) => (diagonal ? [{ name: diagonal, colour: look().quiet, mark: "dashes" }] : []);

function diagonalMarks({ diagonal, range, unit }, to) {
  const [low, high] = (range ?? [0, 1]).map((value) => scaled(value, unit));
  return diagonal ? [straight(to.x(low), to.y(low), to.x(high), to.y(high), dashed(look().quiet))] : [];
}

/** From 0, or below where values are negative, to a little above the largest. */
function curveRange(chart) {
  const tops = [...chart.lines, ...levelsOf(chart)].flatMap((line) => {
    const values = [line.values ?? line.value].flat();
    const errors = [line.error ?? 0].flat();
    return values.flatMap((value, at) => {
      const error = errors[at] ?? 0;
      return value === null ? [] : [value - error, value + error];
    });
  });
  const [low, high] = extent(tops);
  const top = Math.max(high, 0);
  const bottom = Math.min(low, 0);
  const room = 0.06 * (top - bottom || 1);
  return [bottom < 0 ? bottom - room : 0, top > 0 ? top + room : 0];
}

/** Places without gaps, at which all of these have a value. */
function stretches(...lists) {
  const found = [[]];
  lists[0].forEach((_, at) => {
    const isThere = lists.every((values) => values[at] !== null && values[at] !== undefined);
    if (isThere) found.at(-1).push(at);
    else if (found.at(-1).length) found.push([]);
  });
  return found.filter((places) => places.length);
}

/** Areas of one error to each side. */
function bandMarks(chart, line, place, to) {
  if (!line.error) return [];
  const along = alongOf(chart);
  const edge = (places, sign) =>
    places.map((at) => [to.x(along[at]), to.y(scaled(line.values[at] + sign * line.error[at], chart.unit))]);
  return stretches(line.values, line.error).map((places) =>
    path([...edge(places, 1), ...edge([...places].reverse(), -1)], { fill: lineColour(place), "fill-opacity": 0.16 }),
  );
}

function lineMarks(chart, line, place, to) {
  const points = alongOf(chart).map((x, at) => [to.x(x), to.y(scaled(line.values[at], chart.unit))]);
  const stroke = { stroke: lineColour(place), "stroke-width": 2.25 };
  const whole = stretches(line.values);
  const dots = points.length > MOST_DOTS ? [] : whole.flat().map((at) => dot(...points[at], chart.x ? 4 : 2, lineColour(place)));
  return [...whole.map((places) => path(places.map((at) => points[at]), stroke)), ...dots];
}

function lineNotes(chart, line, to) {
  const along = alongOf(chart);
  return stretches(line.values).flat().map((at) => {
    const value = scaled(line.values[at], chart.unit);
    const where = `${formatNumber(along[at])}${chart.x ? chart.unit : ""}`;
    const rows = chart.counts ? ` (${chart.counts[at]} rows)` : "";
    const text = `${line.name} at ${where}: ${formatNumber(line.values[at], chart.unit)}${rows}`;
    return [to.x(along[at]), to.y(value), text];
  });
}

/** The chosen diversity, as a ring on the first line. */
function ringMarks(chart, to) {
  const value = hasMark(chart) ? scaled(chart.lines[0].values[chart.mark], chart.unit) : null;
  if (value === null) return [];
  const ring = { stroke: lineColour(0), "stroke-width": 2 };
  return [dot(to.x(facts.diversities[chart.mark]), to.y(value), 8.5, "none", ring)];
}

function levelMarks(chart, level, place, to) {
  const colour = levelColour(chart, place);
  const at = (shift) => to.y(scaled(level.value + shift, chart.unit));
  const line = straight(to.left, at(0), to.right, at(0), dashed(colour));
  if (level.error === null || level.error === undefined) return [line];
  const band = { x: to.left, y: at(level.error), width: to.right - to.left, height: at(-level.error) - at(level.error) };
  return [drawing("rect", { ...band, fill: colour, "fill-opacity": 0.1 }), line];
}
