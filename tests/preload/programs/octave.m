randn("state", 1);
a = randn(150); s = a' * a; b = randn(150, 7);
function show(x) printf("%.17g\n", x); end
show(a * b); show(b(:, 1)' * a); show(dot(b(:, 1), b(:, 2))); show(norm(b(:, 3))); show(single(a) * single(b));
show(complex(a, s)' * complex(b, b)); show(cov(b)); show(polyfit(1:150, b(:, 1)', 5)); show(kron(b, b(1:2, 1:2)));
show(a \ b); show(b \ b(:, 1)); show(inv(s)); show(chol(s)); show(abs(eig(a))); show(svd(a)); show(det(a));
show(expm(a / 50)); show(abs(logm(s / 50 + eye(150)))); show(abs(qr(a))); show(sylvester(a, a', eye(150)));
