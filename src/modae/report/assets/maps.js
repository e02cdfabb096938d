// Tables of colours: rows against diversity (map), and rows against columns at one diversity (matrix).

const CELL = { smallest: 5, largest: 60 }; // pixels
const SQUARE = 330; // pixels: a square of cells is not larger
const MAP_HEIGHT = 300;
const GAP = 1;

/** A coloured rectangle for each value that is there, and its note. */
function cellsOf(chart, values, cornersAt, textAt) {
  const marks = [];
  const notes = [];
  values.forEach((row, r) =>
    row.forEach((value, c) => {
      const [x, y, width, height] = cornersAt(r, c);
      if (value !== null) marks.push(drawing("rect", { x, y, width, height, fill: mapColour(value, chart.range) }));
      notes.push([x + width / 2, y + height / 2, `${textAt(r, c)}: ${formatNumber(value, chart.unit)}`]);
    }),
  );
  return { marks, notes };
}

const rampOf = (chart) => ({
  mark: "ramp",
  from: formatNumber(chart.range[0], chart.unit),
  to: formatNumber(chart.range[1], chart.unit),
});

const map = {
  still: true,
  height: (chart) => Math.max(MAP_HEIGHT, TOP + BELOW + chart.rows.length * CELL.smallest),
  xLabel: () => "diversity",
  yLabel: (chart) => chart.y_label,
  legend: (chart) => [rampOf(chart)],

  plot(chart, _, width, height) {
    const y = rowAxis(axisWords(chart.rows, chart.y_label).names, width, height - TOP - BELOW);
    const margin = { l: besideOf(y) };
    const edges = cellEdges(facts.diversities);
    const x = { ...diversityAxis(width - margin.l), range: [edges[0], edges.at(-1)] };
    const layout = layoutOf(width, height, margin, x, y);
    const to = pixels(layout);
    const tall = (to.bottom - to.top) / chart.rows.length;
    const cornersAt = (r, c) => [to.x(edges[c]), to.y(r - 0.5), to.x(edges[c + 1]) - to.x(edges[c]) + 0.5, tall + 0.5];
    const textAt = (r, c) => `${chart.rows[r]} at ${facts.diversities[c]}`;
    return { layout, ...cellsOf(chart, chart.values, cornersAt, textAt) };
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

/** A frame between two diversities: dark and bright, so that it shows on every colour. */
function frame(to, from, until) {
  const [x, end] = [to.x(from), to.x(until)];
  const box = { x, y: to.top, width: end - x, height: to.bottom - to.top, fill: "none" };
  const stroke = (colour, width) => drawing("rect", { ...box, stroke: colour, "stroke-width": width });
  return [stroke(look().paper, 5), stroke(look().accent, 2)];
}

const matrix = {
  height: (chart, width) => matrixShape(chart, width).height,
  xLabel: (chart) => axisWords(chart.columns, chart.x_label).label ?? "",
  yLabel: (chart) => axisWords(chart.rows, chart.y_label).label ?? "",
  legend: (chart) => [rampOf(chart)],

  plot(chart, index, width) {
    const { cell, y, left, columns, height } = matrixShape(chart, width);
    const margin = { l: left, r: width - left - cell.width * chart.columns.length, b: columns.margin };
    const layout = layoutOf(width, height, margin, columns.axis, y);
    const to = pixels(layout);
    const size = [cell.width - GAP, cell.height - GAP];
    const cornersAt = (r, c) => [to.x(c - 0.5) + GAP / 2, to.y(r - 0.5) + GAP / 2, ...size];
    const textAt = (r, c) => `${chart.rows[r]}, ${chart.columns[c]}`;
    const { marks, notes } = cellsOf(chart, chart.values[index], cornersAt, textAt);
    const aims = chart.aim === "diagonal" ? diagonalCells(chart, cornersAt) : [];
    const texts = chart.show_values ? cellNumbers(chart, chart.values[index], to, cell) : [];
    return { layout, marks: [...marks, ...aims, ...texts], notes };
  },

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
  const { names } = axisWords(chart.rows, chart.y_label);
  const left = besideOf(rowAxis(names, width, Infinity));
  const wide = (width - left - 8) / columns;
  const cellWidth = chart.square ? Math.min(wide, CELL.largest, Math.max(24, SQUARE / Math.max(rows, columns))) : wide;
  const tallest = chart.square ? cellWidth : Math.min(44, 280 / rows);
  const cell = { width: cellWidth, height: Math.max(tallest, chart.square ? 0 : 14) };
  const below = columnAxis(axisWords(chart.columns, chart.x_label).names, cell.width * columns);
  const height = cell.height * rows + below.margin + TOP;
  return { cell, left, y: rowAxis(names, width, cell.height * rows), columns: below, height };
}

/** Numbers inside the cells where they fit; without the unit, which the legend has. */
function cellNumbers(chart, values, to, cell) {
  const texts = values.map((row) => row.map((value) => (value === null ? "" : cellText(value, chart.unit))));
  if (cell.width < widest(texts.flat()) + 3 || cell.height < TICK_SIZE + 3) return [];
  const middle = { "text-anchor": "middle", "dominant-baseline": "central", class: "cell" };
  return texts.flatMap((row, r) =>
    row.map((text, c) =>
      drawing("text", { x: to.x(c), y: to.y(r), fill: inkOn(mapColour(values[r][c], chart.range)), ...middle }, text),
    ),
  );
}

/** Where a perfect table would have everything. */
function diagonalCells(chart, cornersAt) {
  const count = Math.min(chart.rows.length, chart.columns.length);
  return Array.from({ length: count }, (_, at) => {
    const [x, y, width, height] = cornersAt(at, at);
    return drawing("rect", { x, y, width, height, fill: "none", stroke: look().quiet, "stroke-width": 1.5 });
  });
}
