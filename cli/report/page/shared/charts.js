// Charts by Chart.js, in the page's colours.
import {$, colour} from "./elements.js";

// Has charts that are drawn from now on take the page's colours and font.
export function useColours() {
  Chart.defaults.color = colour("muted");
  Chart.defaults.borderColor = colour("line");
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.animation = false;
  Chart.defaults.maintainAspectRatio = false;
}

// Draws a chart in place of the one that was there. `label`: its description for those who do not
// see it.
export function drawChart(id, label, configuration) {
  Chart.getChart(id)?.destroy();
  $(id).setAttribute("aria-label", label);
  new Chart($(id), configuration);
}
