import { describe, expect, it } from 'vitest';
import { requireSectionName } from './section-name.js';

describe('the name of a section', () => {
  it.each(['a', 'reviews', 'my-reviews', 'Stock.v2', '0', "!#$%&'*+.^_`|~-", '**'])(
    'may be a token of HTTP: %s',
    (name) => {
      expect(requireSectionName(name, 'name')).toBe(name);
    },
  );

  it.each([
    '',
    ' a',
    'a ',
    'a b',
    'a,b',
    'a;b',
    'a=b',
    'a:b',
    'a/b',
    '"a"',
    '(a)',
    'a\r\nb',
    'a\n',
    'ä',
    '*',
    5,
    null,
    ['a'],
  ])('is nothing else: %j', (name) => {
    expect(() => requireSectionName(name, 'name')).toThrow(TypeError);
    expect(() => requireSectionName(name, 'name')).toThrow(/^name: .* is no name for a section/);
  });

  it('is refused with the place, what is allowed, and what to do', () => {
    expect(() => requireSectionName('my reviews', 'sections.reviews')).toThrow(
      'sections.reviews: "my reviews" is no name for a section: headers show it, so letters, digits and ' +
        "!#$%&'*+.^_`|~- are allowed. Give the section another name.",
    );
  });
});
