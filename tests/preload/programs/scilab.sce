rand("seed", 1); rand("normal");
a = rand(150, 150); b = rand(150, 7); s = a' * a;
function show(x), mprintf("%.17g\n", x(:)); endfunction
show(a * b); show(a' * a); show(a \ b);
show(inv(s)); show(chol(s)); show(abs(spec(a))); show(svd(a)); show(expm(a / 50)); show(det(a));
exit
