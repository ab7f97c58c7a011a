export function findTransformers(): { python: string } | { missing: string };
