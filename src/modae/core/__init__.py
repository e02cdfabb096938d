r"""The mathematics: eigenvalues in, modules and a certificate out; numpy and scipy only.

Nothing here knows data, estimators, threads or the environment, and nothing warns. A solver is a
function from a :class:`~modae.core.objective.Problem` (eigenvalues, M, H, diversity) to a
:class:`~modae.core.objective.Solution` (modules in principal axes). It imports ``utils`` alone. Read the
files in this order; the docstring of each states its step. (``objective`` uses names of the files
after it, in ``Problem`` and ``conclude``: read the loss at its top first, and come back to them.) Proofs
of what is stated here are in ``docs/beyond.md``.

==================  ============================================================================
file                what it does
==================  ============================================================================
``objective``       the loss in both forms, its gradient; what a solver is asked, and what it answers
``allocation``      step 3: eigenvalues become shares of the modules, and a lower bound
``cuts``            step 3 on plateaus, where more inequalities on the shares matter
``frames``          step 4: shares become M subspaces, and these become encoders and decoders
``spectral``        all of these in one function, the default solver; and, only where no modules with
                    the shares are found, descent on the loss itself
``backfitting``     Algorithm 1 of the paper: literal, and in principal axes
``gradient``        batch gradient descent, the paper's rival
==================  ============================================================================

What comes before, data that become moments (step 1) and a spectrum (step 2), is in :mod:`modae.data`;
what comes after, estimators that publish a solution, in :mod:`modae.linear`.

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
mean something else. So it is with S (in ``spectral`` and ``linear.least_squares``), with G (in
``frames`` and ``linear.least_squares``), with Q and R (in ``spectral`` and ``data.krylov``).
"""
