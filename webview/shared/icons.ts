/** Line icons, 16 × 16, drawn in the current colour. */
const shapes: Record<string, string> = {
  twisty: 'M6 4l4 4-4 4',
  waiting: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11',
  running: 'M8 2.5a5.5 5.5 0 1 1-5.5 5.5',
  scored: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M5.5 8.2l1.8 1.8 3.3-3.8',
  unscored: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M5.5 8h5',
  failed: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M6 6l4 4M10 6l-4 4',
  cancelled: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M4.2 11.8l7.6-7.6',
  llm: 'M2.5 3.5h11v7.5h-6l-3 2.5v-2.5h-2z',
  operation: 'M6 2.5c-2.5 0-1 5-3 5.5c2 .5.5 5.5 3 5.5M10 2.5c2.5 0 1 5 3 5.5c-2 .5-.5 5.5-3 5.5',
  reward: 'M8 2.2l1.8 3.7 4 .5-2.9 2.8.7 4L8 11.3l-3.6 1.9.7-4L2.200 6.400l4-.5z',
  message: 'M3 4.500h10M3 8h10M3 11.500h6',
  exception: 'M8 2.500l6 10.500h-12zM8 6.500v3M8 11.200v.3',
  source: 'M6 4.500L2.500 8L6 11.500M10 4.500L13.500 8L10 11.500',
  pin: 'M6 2.500h4M6.500 2.500v4.500l-2 2.500h7l-2-2.500v-4.500M8 9.500v4',
  other: 'M8 6a2 2 0 1 0 0 4a2 2 0 1 0 0-4',
};

export function icon(name: string): SVGSVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('fill', 'none');
  svg.setAttribute('stroke', 'currentColor');
  svg.setAttribute('stroke-width', '1.3');
  svg.setAttribute('stroke-linecap', 'round');
  svg.setAttribute('stroke-linejoin', 'round');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', shapes[name] ?? shapes['other'] ?? '');
  svg.append(path);
  return svg;
}
