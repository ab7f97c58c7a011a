export const cacheFolder: string;
