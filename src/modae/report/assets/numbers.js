// Numbers as text, rounded by the rule of modae/utils/text.py: halves go away from zero, in decimal, after the noise
// of binary arithmetic beyond the tenth digit is gone. Nothing here needs a page.

const MISSING = "–";

/** A value on the scale of its axis: fractions become percent. Missing values stay missing. */
function scaled(value, unit) {
  if (value === null || value === undefined) return null;
  return unit === "%" ? Number((100 * value).toPrecision(10)) : value;
}

/** So many decimal places; a number of ten digits has none beyond the tenth. */
function rounded(number, places) {
  const [mantissa, exponent] = Math.abs(number).toExponential(9).split("e");
  const shift = Number(exponent) + places;
  const size = shift >= 9 ? `${mantissa}e${exponent}` : `${Math.round(Number(`${mantissa}e${shift}`))}e${-places}`;
  return number < 0 ? -Number(size) : Number(size);
}

const plainText = (number) => String(number).replaceAll("-", "−");

/** A number with so many digits at most, without zeros at the end, and its unit. */
function formatNumber(value, unit = "", digits = 4) {
  const number = scaled(value, unit);
  if (number === null) return MISSING;
  const exponent = Number(number.toExponential(9).split("e")[1]);
  return `${plainText(rounded(number, digits - 1 - exponent))}${unit}`;
}

/** Short, for a cell, without the unit: 97 or 3.5 percent, 0.41 of anything else. */
function cellText(value, unit) {
  const number = scaled(value, unit);
  const places = Math.abs(number) >= 10 ? 0 : unit === "%" ? 1 : 2;
  return plainText(rounded(number, places));
}

/** A label of an axis, with its unit in brackets. */
function withUnit(label, unit) {
  return unit ? `${label} (${unit})` : label;
}

/** Smallest and largest of all numbers in nested lists; [0, 1] if there are none. */
function extent(nested) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of [nested].flat(Infinity)) {
    if (value === null || value === undefined) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}
