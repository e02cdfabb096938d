// Lines against diversity: bands of error, dashed levels, and a dot on each line where the slider is.

const LEVEL_ORDER = 3; // levels take colours of the same list, after the lines

const curves = {
  still: true, // the slider only moves marks above it
  height: () => 300,
  xLabel: () => "diversity",
  yLabel: (chart) => withUnit(chart.y_label, chart.unit),

  legend(chart) {
    const lines = chart.lines.map((line, place) => ({ name: line.name, colour: lineColour(place), mark: "line" }));
    const levels = levelsOf(chart).map((level, place) => ({
      name: `${level.name}: ${formatNumber(level.value, chart.unit, 3)}`,
      colour: levelColour(chart, place),
      mark: "dashes",
    }));
    const ring = hasMark(chart) ? [{ name: "chosen diversity", colour: lineColour(0), mark: "ring" }] : [];
    return [...lines, ...levels, ...ring];
  },

  plot(chart, _, width, height) {
    const vertical = numberAxis(chart.y_range ?? curveRange(chart), chart.unit, height);
    const margin = { l: vertical.margin };
    const inside = width - vertical.margin;
    const shapes = levelsOf(chart).flatMap((level, place) => levelShapes(chart, level, place));
    const layout = layoutOf(width, height, margin, { xaxis: diversityAxis(inside), yaxis: vertical.axis, shapes });
    const bands = chart.lines.flatMap((line, place) => bandTraces(chart, line, place));
    const lines = chart.lines.map((line, place) => lineTrace(chart, line, place));
    return { traces: [...bands, ...lines, ringTrace(chart)], layout };
  },

  above(chart, index, layout) {
    const to = pixels(layout);
    const at = facts.diversities[index];
    const there = chart.lines.map((line, place) => [scaled(line.values[index], chart.unit), lineColour(place)]);
    const seen = there.filter(([value]) => value !== null && to.sees(value));
    const dots = seen.map(([value, colour]) => dot(to, at, value, colour));
    return facts.diversities.length < 2 ? dots : [uprightLine(to, at), ...dots];
  },

  numbers(chart, index) {
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

const levelsOf = (chart) => (chart.levels ?? []).filter((level) => level.value !== null);
const hasMark = (chart) => chart.mark !== null && chart.mark !== undefined && chart.lines.length > 0;

/** Levels have colours that no line of the chart has. */
const levelColour = (chart, place) => lineColour(Math.max(chart.lines.length, LEVEL_ORDER) + place);

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

/** Areas of one error to each side, one for each stretch without gaps. */
function bandTraces(chart, line, place) {
  if (!line.error) return [];
  return stretches(line).map((indices) => {
    const back = [...indices].reverse();
    const at = (index, sign) => scaled(line.values[index] + sign * line.error[index], chart.unit);
    return {
      type: "scatter",
      mode: "lines",
      x: [...indices, ...back].map((index) => facts.diversities[index]),
      y: [...indices.map((index) => at(index, 1)), ...back.map((index) => at(index, -1))],
      fill: "toself",
      fillcolor: veiled(lineColour(place), 0.16),
      line: { width: 0 },
      hoverinfo: "skip",
    };
  });
}

function stretches(line) {
  const found = [[]];
  line.values.forEach((value, index) => {
    const there = value !== null && line.error[index] !== null && line.error[index] !== undefined;
    if (there) found.at(-1).push(index);
    else if (found.at(-1).length) found.push([]);
  });
  return found.filter((indices) => indices.length > 1);
}

function lineTrace(chart, line, place) {
  const label = shortened(line.name, 30);
  return {
    type: "scatter",
    mode: "lines+markers",
    x: facts.diversities,
    y: line.values.map((value) => scaled(value, chart.unit)),
    text: line.values.map((value, at) => literal(`${label} at ${facts.diversities[at]}: ${formatNumber(value, chart.unit)}`)),
    hovertemplate: "%{text}<extra></extra>",
    line: { color: lineColour(place), width: 2.25 },
    marker: { color: lineColour(place), size: 4 },
  };
}

/** The chosen diversity, as a ring on the first line. */
function ringTrace(chart) {
  const at = hasMark(chart) ? [chart.mark] : [];
  return {
    type: "scatter",
    mode: "markers",
    x: at.map((index) => facts.diversities[index]),
    y: at.map((index) => scaled(chart.lines[0].values[index], chart.unit)),
    marker: { symbol: "circle-open", size: 17, color: lineColour(0), line: { width: 2 } },
    hoverinfo: "skip",
  };
}

function levelShapes(chart, level, place) {
  const colour = levelColour(chart, place);
  const across = { xref: "paper", yref: "y", x0: 0, x1: 1, layer: "below" };
  const at = (shift) => scaled(level.value + shift, chart.unit);
  const line = { type: "line", ...across, y0: at(0), y1: at(0), line: { color: colour, width: 1.75, dash: "6px,4px" } };
  if (level.error === null || level.error === undefined) return [line];
  const band = { type: "rect", ...across, y0: at(-level.error), y1: at(level.error), fillcolor: veiled(colour, 0.1) };
  return [{ ...band, line: { width: 0 } }, line];
}
