r"""The mathematics: numpy and scipy only, arrays in, arrays out.

Read the files in this order; the docstring of each states what it does.

=========================  =====================================================================
file                       what it does
=========================  =====================================================================
``arrays``                 the array types, and the ways to lay a stack of matrices out
``objective``              the loss in both forms, its two terms, its gradient
``moments``                step 1: data become (n, mean, covariance) (``rows``: dense, sparse products)
``spectrum``               step 2: moments become principal axes and eigenvalues
``gram``                   step 2: the same for fewer rows than features, without a D x D matrix
``krylov``                 step 2: its leading part for data too large for both, with a proven error
                           (``covariance``: the operator; ``lanczos``: the iteration)
``stream``                 the summary that grows: rows, then moments; which route to a spectrum
``allocation``             step 3: eigenvalues become shares of the modules, and a lower bound
``subspaces``              step 4: shares become M subspaces (``tight_frames``: Newton's method for it)
``codecs``                 step 5: subspaces become encoders and decoders (``modules``: their answers)
``polish``                 step 6: only where shares are out of reach (``attainability``: proofs of that)
``solution``               the frozen problem and the frozen result of every solver
``spectral``               steps 3 to 6 in one function: the default solver
``backfitting``            Algorithm 1 of the paper: literal, and in principal axes
``gradient``               batch gradient descent, the paper's rival
``bootstrap``              counts of a bootstrap sample, for the baseline
``regression``             other targets: the fitted values of least squares take the place of the data
``devices``                rows that live in another namespace or on another device than NumPy's
``distance_correlation``   how far the distances in one feature space tell those in another
=========================  =====================================================================

Notation, from the paper to the code. A stack of matrices has the module as its first axis.

=====================  ===================================  ==========================  =============
symbol                 meaning                              name                        shape
=====================  ===================================  ==========================  =============
:math:`N, D`           rows and columns of the data         ``n_samples, n_features``
:math:`M`              modules                              ``n_modules``
:math:`H`              hidden units (components) of each    ``n_components``
:math:`\lambda`        diversity parameter                  ``diversity``, ``lam``
:math:`A_i`            decoder of module i                  ``decoders[i]``             (D, H)
:math:`B_i`            encoder of module i                  ``encoders[i]``             (H, D)
:math:`C_i=A_iB_i`     what module i does to a row          ``products[i]``             (D, D)
:math:`\Sigma`         covariance of the data, divisor n    ``covariance``, ``sigma``   (D, D)
:math:`u_k, w_k`       principal axes, eigenvalues          ``axes, eigenvalues``       (K, D), (K,)
:math:`s_k`            square root of :math:`w_k`           ``scales``                  (K,)
:math:`K`              axes that matter: min(MH, rank)      ``len(eigenvalues)``
:math:`V_i`            :math:`A_i` in principal axes        ``frames[i]``               (K, H)
:math:`P_i=V_iV_i^T`   projector of module i
:math:`\bar P`         mean projector                       ``mean_projector(frames)``  (K, K)
:math:`p_k`            its spectrum: share of the modules   ``shares``                  (K,)
                       that look at component k             (``allocation_``)
:math:`c`              water level of a block of shells     ``level``
:math:`Z_i, \Phi`      as in Algorithm 1                    ``Z, Phi``                  (D, D)
:math:`\mu, \nu`        mean; what rows are shifted by       ``mean, shift``             (D,)
:math:`\omega_r`        weight of row r                      ``weights``                 (n,)
:math:`f`              what a share captures                ``1 - unexplained``
:math:`E`              mean loss over the data              ``loss``
=====================  ===================================  ==========================  =============

Other symbols are local: the docstring that uses one says what it is, and elsewhere the same letter may
mean something else. So it is with S (in ``polish`` and ``regression``), with G (in ``tight_frames`` and
``regression``), with Q and R (in ``polish`` and ``krylov``).
"""
