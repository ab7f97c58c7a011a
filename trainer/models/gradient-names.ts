/** Graph output with the gradient of a parameter, or of another input. */
export const gradientOf = (name: string) => `grad ${name}`;
/** Graph input with the sum that a gradient is added to. */
export const sumOf = (parameter: string) => `sum ${parameter}`;
