// Reading the facts, and making elements of the page. Text is text: nothing is ever read as HTML.

const facts = JSON.parse(document.getElementById("facts").textContent);

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; a string becomes text. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** The same for drawings. */
function drawing(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** At most so many characters, without the middle: long names often differ at their ends. Notes have the whole text. */
function shortened(text, length) {
  const characters = Array.from(String(text));
  const half = Math.floor(length / 2);
  if (characters.length <= length) return String(text);
  return `${characters.slice(0, length - half - 1).join("")}…${characters.slice(-half).join("")}`;
}

/** What a chart says at a diversity: one text for each, or one for all. */
function summaryAt(chart, index) {
  return Array.isArray(chart.summary) ? (chart.summary[chart.fixed ? 0 : index] ?? "") : (chart.summary ?? "");
}
