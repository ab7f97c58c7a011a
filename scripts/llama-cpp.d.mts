export function setUpLlamaCpp(): { entry: string } | { missing: string };
