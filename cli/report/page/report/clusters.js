// Separates points of the size map that would hide each other. Points of the same format are
// merged, and points of different formats are moved apart.

const leastDistance = 19; // pixels

// Returns the lower and the upper limit of a range that contains all values. Each limit is 1, 2 or
// 5 times a power of ten.
export function roundRangeAround(values) {
  if (values.length === 0) return [1, 10];
  const steps = (value) => {
    const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
    return [1, 2, 5, 10].map((step) => step * power);
  };
  const lowest = 0.9 * values.reduce((a, b) => Math.min(a, b));
  const highest = 1.1 * values.reduce((a, b) => Math.max(a, b));
  const below = steps(lowest);
  return [
    below.findLast((step) => step <= lowest * 1.0001) ?? below[0],
    steps(highest).find((step) => step >= highest * 0.9999),
  ];
}

// Merges points into clusters. A point joins a cluster if it has the same format and is nearer than
// `reach` to the first point of the cluster. `left` and `up` are positions in pixels. The position
// of a cluster is the mean of its points.
function mergePoints(points, reach) {
  const clusters = [];
  for (const point of points) {
    const isNear = ({format, points: [first]}) =>
      format === point.row.format &&
      Math.hypot(first.left - point.left, first.up - point.up) < reach;
    let cluster = clusters.find(isNear);
    if (!cluster) {
      cluster = {format: point.row.format, left: 0, up: 0, decisions: 0, points: []};
      clusters.push(cluster);
    }
    cluster.decisions += point.decisions;
    cluster.left += ((point.left - cluster.left) * point.decisions) / cluster.decisions;
    cluster.up += ((point.up - cluster.up) * point.decisions) / cluster.decisions;
    cluster.points.push(point);
  }
  return clusters;
}

// Returns the steps by which a cluster may be moved, smallest first.
function possibleOffsets() {
  const steps = [0, 1, -1, 2, -2, 3, -3].flatMap((x) => [0, 1, -1].map((y) => [x, y]));
  steps.sort((a, b) => Math.hypot(...a) - Math.hypot(...b));
  return steps.map(([x, y]) => ({right: x * leastDistance, up: y * leastDistance}));
}

// Sets `offset` of each cluster to the smallest step that keeps it clear of the clusters that
// precede it in the list. No step moves a cluster below the height `floor`.
function moveClustersApart(clusters, floor) {
  const steps = possibleOffsets();
  const taken = [];
  for (const cluster of clusters) {
    const {left, up} = cluster;
    const isFree = (step) =>
      up + step.up >= floor &&
      taken.every(
        (other) =>
          Math.hypot(other.left - left - step.right, other.up - up - step.up) >=
          0.95 * leastDistance,
      );
    cluster.offset = steps.find(isFree) ?? steps[0];
    taken.push({left: left + cluster.offset.right, up: up + cluster.offset.up});
  }
}

// Returns the clusters of points with coordinates `x` and `y`. `ranges` has the lower and the upper
// limit of each coordinate on the map, which is `width` pixels wide and `height` pixels high.
export function clusterPoints(points, ranges, width, height) {
  const scale = ([lowest, highest], length) => length / Math.log(highest / lowest);
  const perX = scale(ranges.x, Math.max(width, 100));
  const perY = scale(ranges.y, height);
  const inPixels = points.map((point) => ({
    ...point,
    left: Math.log(point.x) * perX,
    up: Math.log(point.y) * perY,
  }));
  inPixels.sort((a, b) => b.y - a.y);
  let reach = leastDistance;
  let clusters = mergePoints(inPixels, reach);
  while (clusters.length > (width * height) / 2000) {
    reach *= 1.3;
    clusters = mergePoints(inPixels, reach);
  }
  moveClustersApart(clusters, Math.log(ranges.y[0]) * perY);
  for (const cluster of clusters) {
    const {left, up, offset} = cluster;
    const [first, ...others] = cluster.points;
    const mean = others.length ? {x: Math.exp(left / perX), y: Math.exp(up / perY)} : first;
    cluster.x = mean.x * Math.exp(offset.right / perX);
    cluster.y = mean.y * Math.exp(offset.up / perY);
  }
  return clusters;
}
