// Draws charts with Chart.js in the page's colours.
import {$, colour} from "./elements.js";

// Gives all charts that are drawn afterwards the page's colours and font, no animation, and the
// size of their parent elements.
export function setChartDefaults() {
  Chart.defaults.color = colour("muted");
  Chart.defaults.borderColor = colour("line");
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.animation = false;
  Chart.defaults.maintainAspectRatio = false;
}

// Draws a chart on the canvas `id`, in place of the chart that was there before. `label` describes
// the chart for screen readers.
export function drawChart(id, label, configuration) {
  Chart.getChart(id)?.destroy();
  $(id).setAttribute("aria-label", label);
  new Chart($(id), configuration);
}
