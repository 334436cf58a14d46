# Joins modules into one script by removing imports and the word `export`.
/^import /{
  :more
  /;$/!{
    N
    b more
  }
  d
}
s/^export //
