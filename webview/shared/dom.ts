type Child = Node | string | null;

/**
 * Makes an element. Strings become text nodes, never markup. `class`, `aria-*`, `data-*` and other names with lower case
 * letters are attributes; functions are listeners of the event of that name.
 */
export function h(tag: string, properties: Record<string, string | number | boolean | null | ((event: Event) => void)> = {}, ...children: Child[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Draws a part of the page anew only when its data has changed, so that focus, selection and scrolling stay. */
export function part<T>(host: HTMLElement, draw: (data: T) => Child[]): (data: T) => void {
  let drawn: string | null = null;
  return (data) => {
    const key = JSON.stringify(data);
    if (key === drawn) return;
    drawn = key;
    host.replaceChildren(...draw(data).filter((child) => child !== null));
  };
}

/** Sets text only when it differs: a live region would read it again. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
