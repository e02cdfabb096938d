// The slider: one number, the index of the diversity, that everything follows.

let waiting = false;

const lastIndex = facts.diversities.length - 1;
const currentIndex = () => Number(document.body.dataset.index);

/** Show this diversity everywhere. */
function goTo(index) {
  const slider = byId("diversity");
  const text = String(facts.diversities[index]);
  document.body.dataset.index = index;
  slider.value = index;
  slider.setAttribute("aria-valuetext", text);
  byId("value").textContent = text;
  byId("live").textContent = (study()?.live ?? facts.live)[index] ?? "";
  soon();
}

/** Once for each picture of the screen, however fast the slider moves. */
function soon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    moveFigures();
  });
}

function setUpSlider() {
  const slider = byId("diversity");
  slider.max = lastIndex;
  byId("control").hidden = lastIndex < 1;
  byId("stops").append(...facts.diversities.map((value, index) => element("option", { value: index, label: value })));
  slider.addEventListener("input", () => goTo(Number(slider.value)));
}

/** What follows a link or the focus must not hide below the bar. */
function keepClearOfBar() {
  const bar = byId("bar");
  const sticky = () => (getComputedStyle(bar).position === "sticky" ? bar : bar.querySelector(".controls"));
  const measure = () => {
    const height = sticky().getBoundingClientRect().height;
    document.documentElement.style.scrollPaddingTop = `${Math.ceil(height) + 16}px`;
  };
  const sizes = new ResizeObserver(measure);
  [bar, bar.querySelector(".controls")].forEach((node) => sizes.observe(node));
  measure();
}
