// Bars, densities and points: what one diversity looks like, on axes that stay while the slider moves.

const bars = {
  height: (chart, width) => 274 + barNames(chart, width).margin,
  xLabel: (chart) => chart.x_label,
  yLabel: (chart) => withUnit(chart.y_label, chart.unit),
  legend: () => [],

  plot(chart, index, width, height) {
    const horizontal = barNames(chart, width);
    const vertical = numberAxis(chart.range, chart.unit, height - horizontal.margin);
    const values = chart.values[index];
    const layout = layoutOf(width, height, { l: vertical.margin, b: horizontal.margin }, {
      xaxis: horizontal.axis,
      yaxis: vertical.axis,
      bargap: 0.25,
    });
    return { traces: [barTrace(chart, values)], layout };
  },

  numbers(chart, index) {
    const rows = chart.names.map((name, place) => ({ name, cells: [formatNumber(chart.values[index][place], chart.unit)] }));
    return [{ corner: chart.x_label, columns: [chart.y_label], rows }];
  },
};

function barNames(chart, width) {
  const range = [-0.6, chart.names.length - 0.4];
  return columnAxis(axisWords(chart.names, chart.x_label).names, width - 50, { range });
}

function barTrace(chart, values) {
  return {
    type: "bar",
    x: values.map((_, place) => place),
    y: values.map((value) => scaled(value, chart.unit)),
    text: values.map((value, place) => literal(`${shortened(chart.names[place], 30)}: ${formatNumber(value, chart.unit)}`)),
    textposition: "none",
    hovertemplate: "%{text}<extra></extra>",
    marker: { color: lineColour(0) },
  };
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
    const panel = chart.panels[place];
    const range = extent(panel.grid[index]);
    const horizontal = axis({ range, nticks: Math.max(2, Math.round(width / 60)), showgrid: false });
    const [, top] = extent(panel.curves[index]);
    const vertical = axis({ range: [0, 1.05 * top || 1], showticklabels: false, showgrid: false });
    const line = { type: "line", xref: "paper", x0: 0, x1: 1, y0: 0, y1: 0, line: { color: look().rule, width: 1 } };
    const layout = layoutOf(width, height, { l: 12, r: 12 }, { xaxis: horizontal, yaxis: vertical, shapes: [line] });
    const curvesHere = panel.curves[index];
    return { traces: curvesHere.map((values, which) => densityTrace(chart, panel.grid[index], values, which)), layout };
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

function densityTrace(chart, grid, values, which) {
  const colour = classColour(which, chart.classes.length);
  return {
    type: "scatter",
    mode: "lines",
    x: grid,
    y: values,
    text: literal(shortened(chart.classes[which], 30)),
    hovertemplate: "%{text}<extra></extra>",
    fill: "tozeroy",
    fillcolor: veiled(colour, 0.12),
    line: { color: colour, width: 2 },
  };
}

const scatter = {
  height: (chart, width) => Math.min(width, 420),
  xLabel: (chart) => chart.x_label,
  yLabel: (chart) => chart.y_label,
  legend: (chart) => (chart.diagonal ? [{ name: "equal", colour: look().quiet, mark: "dashes" }] : []),

  plot(chart, index, width, height) {
    const range = chart.range ?? extent([chart.x, chart.y]);
    const vertical = numberAxis(range, "", height);
    const horizontal = numberAxis(range, "", width);
    const [low, high] = range;
    const line = { color: look().quiet, width: 1.5, dash: "6px,4px" };
    const equal = { type: "line", x0: low, y0: low, x1: high, y1: high, line, layer: "below" };
    const layout = layoutOf(width, height, { l: vertical.margin, r: 14 }, {
      xaxis: { ...horizontal.axis, showgrid: true },
      yaxis: vertical.axis,
      shapes: chart.diagonal ? [equal] : [],
    });
    return { traces: [pointTrace(chart, index)], layout };
  },

  numbers(chart, index) {
    const rows = chart.x.map((value, at) => ({
      name: String(at + 1),
      cells: [formatNumber(value), formatNumber(chart.y[index][at])],
    }));
    return [{ corner: "point", columns: [chart.x_label, chart.y_label], rows }];
  },
};

function pointTrace(chart, index) {
  return {
    type: "scatter",
    mode: "markers",
    x: chart.x,
    y: chart.y[index],
    text: chart.x.map((value, at) => `${formatNumber(value)} → ${formatNumber(chart.y[index][at])}`),
    hovertemplate: "%{text}<extra></extra>",
    marker: { color: veiled(lineColour(0), 0.55), size: 6, line: { width: 0 } },
  };
}
