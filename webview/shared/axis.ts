/** From 0 to 1 for what lies there as a rule; else a little wider than the values, and not below 0 without need. */
export function axisRange(min: number | null, max: number | null, unitRange: boolean): [number, number] {
  if (min === null || max === null || (unitRange && min >= 0 && max <= 1)) return [0, 1];
  if (min === 0 && max === 0) return [0, 1];
  const margin = Math.max((max - min) * 0.1, Math.abs(max) * 0.02, 1e-6);
  return [min >= 0 ? Math.max(0, min - margin) : min - margin, max + margin];
}
