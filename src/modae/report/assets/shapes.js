// Bars, densities and points: what one diversity looks like, on axes that stay while the slider moves.

const bars = {
  height: (chart, width) => 274 + barNames(chart, width).margin,
  xLabel: (chart) => chart.x_label ?? "",
  yLabel: (chart) => withUnit(chart.y_label, chart.unit),
  legend: () => [],

  plot(chart, index, width, height) {
    const names = barNames(chart, width);
    const y = numberAxis(chart.range, chart.unit, height - names.margin, 48, { grid: true });
    const layout = layoutOf(width, height, { l: besideOf(y), b: names.margin }, names.axis, y);
    const to = pixels(layout);
    const wide = 0.75 * (to.x(1) - to.x(0));
    if (chart.error) return { layout, ...pointsWithErrors(chart, index, to) };
    const found = chart.values[index].map((value, place) => {
      const top = to.y(scaled(value, chart.unit) ?? 0);
      const box = { x: to.x(place) - wide / 2, y: top, width: wide, height: Math.max(to.y(0) - top, 0) };
      const text = `${chart.names[place]}: ${formatNumber(value, chart.unit)}`;
      return { mark: drawing("rect", { ...box, fill: lineColour(0) }), note: [to.x(place), null, text] };
    });
    return { layout, marks: found.map(({ mark }) => mark), notes: found.map(({ note }) => note) };
  },

  numbers(chart, index) {
    const rows = chart.names.map((name, place) => ({ name, cells: [formatNumber(chart.values[index][place], chart.unit)] }));
    return [{ corner: chart.x_label, columns: [chart.y_label], rows }];
  },
};

/** Points with error bars, that of the model itself in another colour. */
function pointsWithErrors(chart, index, to) {
  const found = chart.values[index].map((value, place) => {
    const error = chart.error[place] ?? 0;
    const [low, at, high] = [value - error, value, value + error].map((each) => to.y(scaled(each, chart.unit)));
    const own = place === chart.own;
    const colour = lineColour(Number(own));
    const line = straight(to.x(place), low, to.x(place), high, { stroke: colour, "stroke-width": own ? 3 : 2 });
    const text = `${chart.names[place]}: ${formatNumber(value, chart.unit)} ± ${formatNumber(error, chart.unit)}`;
    return { marks: [line, dot(to.x(place), at, own ? 7 : 5, colour)], note: [to.x(place), null, text] };
  });
  return { marks: found.flatMap(({ marks }) => marks), notes: found.map(({ note }) => note) };
}

function barNames(chart, width) {
  const range = [-0.6, chart.names.length - 0.4];
  return columnAxis(axisWords(chart.names, chart.x_label).names, width - 50, range);
}

const MOST_ROWS = 40; // of a table of a density

const densities = {
  panels: (chart) => chart.panels.map((panel) => panel.title),
  height: () => 190,
  xLabel: (chart) => chart.x_label,
  yLabel: () => "",
  legend: (chart) =>
    chart.classes.map((name, place) => ({ name, colour: classColour(place, chart.classes.length), mark: "area" })),

  plot(chart, index, width, height, place) {
    const { grid, curves: heights } = chart.panels[place];
    const [, top] = extent(heights[index]);
    const x = numberAxis(extent(grid[index]), "", width, 60, { room: 0 });
    const layout = layoutOf(width, height, { l: 12, r: 12 }, x, axis([0, 1.05 * top || 1], [], []));
    const to = pixels(layout);
    const marks = [straight(to.left, to.bottom, to.right, to.bottom)];
    const notes = [];
    heights[index].forEach((values, which) => {
      const colour = classColour(which, chart.classes.length);
      const points = values.map((value, at) => [to.x(grid[index][at]), to.y(value ?? 0)]);
      const ends = [[points.at(-1)[0], to.bottom], [points[0][0], to.bottom]];
      marks.push(path([...points, ...ends], { fill: colour, "fill-opacity": 0.1 }));
      marks.push(path(points, { stroke: colour, "stroke-width": 2 }));
      notes.push(...points.map((point) => [...point, String(chart.classes[which])]));
    });
    return { layout, marks, notes };
  },

  numbers(chart, index) {
    return chart.panels.map((panel) => {
      const grid = panel.grid[index];
      const every = Math.max(1, Math.ceil(grid.length / MOST_ROWS));
      const places = grid.map((_, at) => at).filter((at) => at % every === 0);
      const rows = places.map((at) => ({
        name: formatNumber(grid[at]),
        cells: panel.curves[index].map((values) => formatNumber(values[at])),
      }));
      const note = every > 1 ? `one of ${every} points` : "";
      const title = [panel.title, note].filter(Boolean).join(", ");
      return { title, corner: chart.x_label, columns: chart.classes, rows };
    });
  },
};

const scatter = {
  height: (chart, width) => Math.min(width, 420),
  xLabel: (chart) => chart.x_label,
  yLabel: (chart) => chart.y_label,
  legend: diagonalEntry,

  plot(chart, index, width, height) {
    const y = numberAxis(chart.range, "", height, 48, { grid: true });
    const margin = { l: besideOf(y), r: 14 };
    const x = numberAxis(chart.range, "", width - margin.l, 60, { grid: true });
    const layout = layoutOf(width, height, margin, x, y);
    const to = pixels(layout);
    const notes = chart.x.map((value, at) => {
      const told = chart.y[index][at];
      return [to.x(value), to.y(told), `true ${formatNumber(value)}, predicted ${formatNumber(told)}`];
    });
    const points = notes.map(([left, top]) => dot(left, top, 3.5, lineColour(0), { "fill-opacity": 0.5 }));
    return { layout, marks: [...diagonalMarks(chart, to), ...points], notes };
  },

  numbers(chart, index) {
    const rows = chart.x.map((value, at) => ({
      name: String(at + 1),
      cells: [formatNumber(value), formatNumber(chart.y[index][at])],
    }));
    return [{ corner: "point", columns: [chart.x_label, chart.y_label], rows }];
  },
};
