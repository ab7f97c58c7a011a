import { schemaOf, type Schema } from './schema.ts';

/** Databases whose tasks are on both sides (different tasks). */
export const sharedSchemas: readonly Schema[] = [
  schemaOf('library', 'author: name country age', 'book: title genre pages year'),
  schemaOf('school', 'teacher: name subject salary', 'course: title level duration visits'),
  schemaOf('shop', 'customer: name city income', 'order: code status price year'),
  schemaOf('garage', 'owner: name region age', 'car: model color power price'),
  schemaOf('travel', 'airline: name country founded', 'flight: code season distance seats', 'driver: alias language salary'),
  schemaOf('farm', 'farm: name region area', 'animal: nickname color weight age'),
  schemaOf('league', 'team: name city budget', 'player: alias level goals height', 'club: label kind founded'),
  schemaOf('clinic', 'doctor: name department salary', 'patient: nickname status age weight'),
];

/** Databases that no training task uses. */
export const heldOutSchemas: readonly Schema[] = [
  schemaOf('cinema', 'director: name country founded', 'movie: title genre duration budget'),
  schemaOf('kitchen', 'chef: name language score', 'recipe: label season price rating'),
  schemaOf('harbor', 'port: name city depth', 'ship: model material length speed'),
  schemaOf('gallery', 'museum: name city visits', 'painting: title material height year', 'guest: alias language age'),
];
