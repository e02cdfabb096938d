// Tables of colours: rows against diversity (map), and rows against columns at one diversity (matrix).

const CELL = { smallest: 5, largest: 60 }; // pixels
const SQUARE = 330; // pixels: a square of cells is not larger
const MAP_HEIGHT = 300;
const GAP = 1;

/** What both need: values, colours, and a text for the pointer. */
function heatTrace(chart, values, textAt, options = {}) {
  return {
    type: "heatmap",
    z: values.map((row) => row.map((value) => scaled(value, chart.unit))),
    customdata: values.map((row, r) => row.map((value, c) => literal(`${textAt(r, c)}: ${formatNumber(value, chart.unit)}`))),
    hovertemplate: "%{customdata}<extra></extra>",
    zmin: scaled(chart.range[0], chart.unit),
    zmax: scaled(chart.range[1], chart.unit),
    colorscale: look().scale,
    showscale: false,
    hoverongaps: false,
    xgap: GAP,
    ygap: GAP,
    ...options,
  };
}

const rampOf = (chart) => ({
  mark: "ramp",
  from: formatNumber(chart.range[0], chart.unit),
  to: formatNumber(chart.range[1], chart.unit),
});

/** Rows from below, or from above. */
const rowRange = (count, down) => (down ? [count - 0.5, -0.5] : [-0.5, count - 0.5]);

const map = {
  still: true,
  height: (chart) => Math.max(MAP_HEIGHT, TOP + 26 + chart.rows.length * CELL.smallest),
  xLabel: () => "diversity",
  yLabel: (chart) => chart.y_label,
  legend: (chart) => [rampOf(chart)],

  plot(chart, _, width, height) {
    const range = rowRange(chart.rows.length, chart.reverse);
    const vertical = rowAxis(axisWords(chart.rows, chart.y_label).names, width, height - TOP - 26, { range });
    const edges = cellEdges(facts.diversities);
    const horizontal = diversityAxis(width - vertical.margin, { range: [edges[0], edges.at(-1)] });
    const textAt = (r, c) => `${shortened(chart.rows[r], 30)} at ${facts.diversities[c]}`;
    const options = { x: edges, y: chart.rows.map((_, row) => row), xgap: 0, ygap: 0 };
    const layout = layoutOf(width, height, { l: vertical.margin }, { xaxis: horizontal, yaxis: vertical.axis });
    return { traces: [heatTrace(chart, chart.values, textAt, options)], layout };
  },

  above(chart, index, layout) {
    const edges = cellEdges(facts.diversities);
    return facts.diversities.length < 2 ? [] : frame(pixels(layout), edges[index], edges[index + 1]);
  },

  numbers(chart, index) {
    const rows = chart.rows.map((name, row) => ({ name, cells: [formatNumber(chart.values[row][index], chart.unit)] }));
    return [{ corner: chart.y_label, columns: ["value"], rows }];
  },
};

/** Borders half way between diversities, which may be uneven. */
function cellEdges(centres) {
  if (centres.length === 1) return [centres[0] - 0.5, centres[0] + 0.5];
  const middle = centres.slice(1).map((value, at) => (value + centres[at]) / 2);
  const first = 2 * centres[0] - middle[0];
  const last = 2 * centres.at(-1) - middle.at(-1);
  return [first, ...middle, last];
}

const matrix = {
  height: (chart, width) => matrixShape(chart, width).height,
  xLabel: (chart) => axisWords(chart.columns, chart.x_label).label,
  yLabel: (chart) => axisWords(chart.rows, chart.y_label).label,
  legend: (chart) => [rampOf(chart)],

  plot(chart, index, width) {
    const { cell, vertical, horizontal, height } = matrixShape(chart, width);
    const textAt = (r, c) => `${shortened(chart.rows[r], 20)}, ${shortened(chart.columns[c], 20)}`;
    const rest = width - vertical.margin - cell.width * chart.columns.length;
    const margin = { l: vertical.margin, r: rest, b: horizontal.margin };
    const layout = layoutOf(width, height, margin, {
      xaxis: horizontal.axis,
      yaxis: vertical.axis,
      shapes: chart.aim === "diagonal" ? diagonalShapes(chart) : [],
    });
    return { traces: [heatTrace(chart, chart.values[index], textAt)], layout };
  },

  above: (chart, index, layout) =>
    chart.show_values ? cellNumbers(chart, chart.values[index], pixels(layout)) : [],

  numbers(chart, index) {
    const rows = chart.rows.map((name, row) => ({
      name,
      cells: chart.values[index][row].map((value) => formatNumber(value, chart.unit)),
    }));
    const corner = [chart.y_label, chart.x_label].filter(Boolean).join(" / ");
    return [{ corner, columns: chart.columns, rows }];
  },
};

/** Cells as large as there is room for, and the axes around them. */
function matrixShape(chart, width) {
  const [rows, columns] = [chart.rows.length, chart.columns.length];
  const right = 8;
  const { names } = axisWords(chart.rows, chart.y_label);
  const left = rowAxis(names, width, Infinity).margin;
  const wide = (width - left - right) / columns;
  const cellWidth = chart.square ? Math.min(wide, CELL.largest, Math.max(24, SQUARE / Math.max(rows, columns))) : wide;
  const tallest = chart.square ? cellWidth : Math.min(44, 280 / rows);
  const cell = { width: cellWidth, height: Math.max(tallest, chart.square ? 0 : 14) };
  const range = rowRange(rows, true);
  const vertical = rowAxis(names, width, cell.height * rows, { range });
  vertical.margin = left;
  const horizontal = columnAxis(axisWords(chart.columns, chart.x_label).names, cell.width * columns, {
    range: [-0.5, columns - 0.5],
  });
  return { cell, vertical, horizontal, height: cell.height * rows + horizontal.margin + TOP };
}

/** Numbers inside the cells where they fit; without the unit, which the legend has. */
function cellNumbers(chart, values, to) {
  const texts = values.map((row) => row.map((value) => (value === null ? "" : cellText(value, chart.unit))));
  const cell = { width: to.x(1) - to.x(0), height: Math.abs(to.y(1) - to.y(0)) };
  if (cell.width < widest(texts.flat()) + 3 || cell.height < TICK_SIZE + 3) return [];
  const middle = { "text-anchor": "middle", "dominant-baseline": "central", "font-size": TICK_SIZE - 1 };
  return texts.flatMap((row, r) =>
    row.map((text, c) =>
      drawing("text", { x: to.x(c), y: to.y(r), fill: inkOn(mapColour(values[r][c], chart.range)), ...middle }, text),
    ),
  );
}

/** Where a perfect table would have everything. */
function diagonalShapes(chart) {
  const count = Math.min(chart.rows.length, chart.columns.length);
  return Array.from({ length: count }, (_, at) => ({
    type: "rect",
    x0: at - 0.5,
    x1: at + 0.5,
    y0: at - 0.5,
    y1: at + 0.5,
    line: { color: look().quiet, width: 1.5 },
  }));
}
