/** Makes an SVG element; `class` and other names are attributes, functions are listeners of the event of that name. */
export function svg(tag: string, properties: Record<string, string | number | ((event: Event) => void)> = {}, ...children: Node[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}
