/** The vocabulary of every schema: singular table names, columns and the values they hold. */

export const tableNames = [
  'author', 'book', 'teacher', 'student', 'customer', 'order', 'driver', 'car', 'airline', 'flight', 'hotel', 'guest', 'farm', 'animal', 'team', 'player',
  'museum', 'painting', 'chef', 'recipe', 'doctor', 'patient', 'director', 'movie', 'singer', 'song', 'store', 'employee', 'owner', 'house', 'club', 'member',
  'port', 'ship', 'school', 'course',
] as const;

/** Columns whose values tell the rows of a table apart. */
export const labelColumns = ['name', 'title', 'code', 'model', 'label', 'nickname', 'brand', 'alias'] as const;

/** Columns with few values, each shared by several rows. */
export const categoryColumns: Readonly<Record<string, readonly string[]>> = {
  city: ['Paris', 'Rome', 'Oslo', 'Lima', 'Cairo', 'Tokyo'],
  country: ['France', 'Italy', 'Norway', 'Peru', 'Egypt', 'Japan'],
  color: ['red', 'blue', 'green', 'black', 'white', 'yellow'],
  genre: ['drama', 'comedy', 'crime', 'history', 'fantasy', 'poetry'],
  status: ['open', 'closed', 'active', 'pending', 'done', 'late'],
  level: ['basic', 'junior', 'senior', 'expert', 'master', 'novice'],
  region: ['north', 'south', 'east', 'west', 'center', 'coast'],
  language: ['French', 'Italian', 'Spanish', 'Arabic', 'German', 'Greek'],
  season: ['spring', 'summer', 'autumn', 'winter'],
  material: ['wood', 'steel', 'glass', 'stone', 'paper', 'cotton'],
  subject: ['math', 'music', 'art', 'physics', 'biology', 'sport'],
  size: ['tiny', 'small', 'medium', 'large', 'huge'],
  department: ['sales', 'design', 'support', 'finance', 'legal', 'research'],
  kind: ['public', 'private', 'mixed', 'local', 'global'],
};

interface NumberRange { low: number; high: number; step: number }
const small: NumberRange = { low: 1, high: 40, step: 1 };
const middle: NumberRange = { low: 50, high: 400, step: 10 };
const large: NumberRange = { low: 500, high: 4000, step: 100 };
const years: NumberRange = { low: 1990, high: 2024, step: 1 };

export const numberColumns: Readonly<Record<string, NumberRange>> = {
  age: small, stock: small, score: small, rating: small, wins: small, goals: small, rooms: small, votes: small, points: small, visits: small,
  pages: middle, price: middle, weight: middle, height: middle, speed: middle, length: middle, duration: middle, seats: middle, power: middle, depth: middle,
  salary: large, budget: large, distance: large, population: large, area: large, profit: large, cost: large, income: large,
  year: years, founded: years,
};

export const names = [
  'Ada', 'Ben', 'Cleo', 'Dan', 'Eva', 'Finn', 'Gus', 'Hana', 'Ivo', 'Jan', 'Kim', 'Leo', 'Mia', 'Nora', 'Otto', 'Pia', 'Quin', 'Rosa', 'Sam', 'Tia',
  'Uma', 'Vera', 'Will', 'Xena', 'Yuri', 'Zoe', 'Alma', 'Bruno', 'Clara', 'Doris', 'Emil', 'Flora', 'Greta', 'Hugo', 'Iris', 'Jonas', 'Karl', 'Lena', 'Marco', 'Nina',
] as const;
