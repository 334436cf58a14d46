import numpy as np
import statsmodels.api as sm
random = np.random.default_rng(1)
x = sm.add_constant(random.standard_normal((300, 20)))
y = x @ random.standard_normal(21) + random.standard_normal(300)
for found in (sm.OLS(y, x).fit().cov_params(), sm.Logit((y > 0).astype(float), x[:, :4]).fit(disp=0).params,
              sm.GLS(y, x).fit().params,
              sm.RLM(y, x).fit().params, sm.tsa.AutoReg(y, 3).fit().params, sm.tsa.VAR(x[:, 1:4]).fit(2).params,
              sm.tsa.SARIMAX(y, order=(1, 0, 1)).fit(disp=0).params):
    print(*("%.17g" % each for each in np.ravel(found)))
