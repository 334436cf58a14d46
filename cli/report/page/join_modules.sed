# Makes one script of modules: drops their imports, and the word `export`.
/^import /{
  :more
  /;$/!{
    N
    b more
  }
  d
}
s/^export //
