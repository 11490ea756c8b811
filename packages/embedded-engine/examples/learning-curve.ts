const size = { width: 640, height: 320, left: 48, right: 16, top: 40, bottom: 40 };

/** A curve from 0 to `top` as an SVG picture: each step as a dot, and the mean of the last five as a line. */
export function learningCurve(title: string, values: number[], top: number): string {
  const inner = { width: size.width - size.left - size.right, height: size.height - size.top - size.bottom };
  const x = (step: number) => size.left + (inner.width * step) / Math.max(1, values.length - 1);
  const y = (value: number) => size.top + inner.height * (1 - Math.min(1, value / top));
  const point = (value: number, step: number) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`;
  const means = values.map((_, step) => {
    const recent = values.slice(Math.max(0, step - 4), step + 1);
    return recent.reduce((sum, each) => sum + each, 0) / recent.length;
  });
  const levels = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const [value, height] = [share * top, y(share * top).toFixed(1)];
    return `<line x1="${size.left}" x2="${size.width - size.right}" y1="${height}" y2="${height}" stroke="#ddd"/>
<text x="${size.left - 8}" y="${height}" text-anchor="end" dominant-baseline="middle">${value.toFixed(2)}</text>`;
  });
  const last = values.length - 1;
  const marks = [0, Math.round(last / 2), last].map(
    (step) => `<text x="${x(step).toFixed(1)}" y="${size.height - 16}" text-anchor="middle">${step}</text>`,
  );
  const dots = values.map((value, step) => {
    const [cx, cy] = point(value, step).split(",");
    return `<circle cx="${cx}" cy="${cy}" r="2.5" fill="#9bb8d8"/>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" font-size="12" fill="#333">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${size.left}" y="22" font-size="15">${title}</text>
${[...levels, ...marks, ...dots].join("\n")}
<polyline points="${means.map(point).join(" ")}" fill="none" stroke="#2563a8" stroke-width="2"/>
</svg>
`;
}
