import { describe, expect, it } from 'vitest';
import { parseStructuredString } from './structured-string.js';

const valueOf = (text: string): string => {
  const string = parseStructuredString(text);
  if (string.kind === 'malformed') throw new Error(string.problem);

  return string.value;
};

describe('a structured string', () => {
  it.each([
    ['""', ''],
    ['"abc"', 'abc'],
    ['" "', ' '],
    ['"a, b;c=1"', 'a, b;c=1'],
    [String.raw`"a\"b"`, 'a"b'],
    [String.raw`"\\"`, '\\'],
    [String.raw`"\\\""`, '\\"'],
    [String.raw`"\\n"`, String.raw`\n`],
  ])('%s is %j', (text, value) => {
    expect(valueOf(text)).toBe(value);
  });

  it('holds every printable character of ASCII', () => {
    const all = Array.from({ length: 0x7f - 0x20 }, (_, index) => String.fromCharCode(0x20 + index)).join('');

    expect(valueOf(`"${all.replace(/["\\]/g, '\\$&')}"`)).toBe(all);
  });

  it.each([
    '',
    'abc',
    '"',
    '"abc',
    'abc"',
    String.raw`"abc\"`,
    String.raw`"a\b"`,
    '"a\\',
    '"a\tb"',
    '"a\nb"',
    '"a\0b"',
    '"a\x7fb"',
    '"ä"',
    '"\ud83d\ude00"',
    "'abc'",
    ' "abc"',
  ])('is not %j', (text) => {
    expect(parseStructuredString(text)).toEqual({
      kind: 'malformed',
      problem: 'is not a well-formed string in double quotes',
    });
  });
});

describe('the parameters of a structured string', () => {
  it.each([
    ['without a value', ';a'],
    ['with blanks before the name', ';  a'],
    ['of a name of all kinds of characters', ';*a-b_c.d*9'],
    ['of an integer', ';a=15'],
    ['of a negative integer', ';a=-999999999999999'],
    ['of a decimal', ';a=123456789012.125'],
    ['of a negative decimal', ';a=-0.5'],
    ['of a string', String.raw`;a="b;\"c\", d"`],
    ['of a token', ";a=B!#$%&'*+-.^_`|~:/9"],
    ['of a token that begins with an asterisk', ';a=*'],
    ['of bytes', ';a=:aGVsbG8gd29ybGQ=:'],
    ['of bytes without padding', ';a=:aGVsbG8gd29ybGQ:'],
    ['of no bytes', ';a=::'],
    ['of true', ';a=?1'],
    ['of false', ';a=?0'],
    ['of a date', ';a=@1659578233'],
    ['of a date before the epoch', ';a=@-1'],
    ['of a display string', ';a=%"f%c3%bc%c3%bc"'],
    ['many of them', ';a=1;b;c="x";d=?0;a=2'],
  ])('are ignored: %s', (_, parameters) => {
    expect(valueOf(`"key"${parameters}`)).toBe('key');
  });

  it.each([
    ['no parameter', 'x'],
    ['a second string', ', "b"'],
    ['a blank', ' '],
    ['a blank before the semicolon', ' ;a'],
    ['a tab before the name', ';\ta'],
    ['no name', ';'],
    ['a name in upper case', ';A'],
    ['a name that begins with a digit', ';1'],
    ['no value', ';a='],
    ['a blank before the value', ';a= 1'],
    ['a blank behind the value', ';a=1 '],
    ['an integer of sixteen digits', ';a=1234567890123456'],
    ['a decimal without a fraction', ';a=1.'],
    ['a decimal of four places', ';a=1.1234'],
    ['a decimal of thirteen digits', ';a=1234567890123.1'],
    ['a sign alone', ';a=-'],
    ['a string without its end', ';a="b'],
    ['a string with a wrong escape', String.raw`;a="\b"`],
    ['a token with a comma', ';a=b,c'],
    ['bytes without their end', ';a=:aGVs'],
    ['bytes of another alphabet', ';a=:aGV_:'],
    ['bytes that are no base64', ';a=:a:'],
    ['bytes with padding in the middle', ';a=:aG==aG==:'],
    ['a boolean that is neither', ';a=?2'],
    ['a date with a fraction', ';a=@1.5'],
    ['a display string in upper-case hexadecimal', ';a=%"%C3%BC"'],
    ['a display string with a lone percent sign', ';a=%"100%"'],
    ['a display string that is no UTF-8', ';a=%"%c3"'],
    ['a display string of a surrogate', ';a=%"%ed%a0%80"'],
    ['a list', ';a=(1)'],
  ])('are refused: %s', (_, parameters) => {
    expect(parseStructuredString(`"key"${parameters}`).kind).toBe('malformed');
  });
});
