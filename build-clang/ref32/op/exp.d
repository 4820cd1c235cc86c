build-clang/ref32/op/exp.o: ref/op/exp.c ref/op/op.h ref/base/case/args.h \
  ref/base/format/matrix.h ref/base/num/dtype.h ref/base/num/real.h \
  ref/base/case/op.h ref/base/num/coef.h ref/op/pow2.h \
  ref/base/num/convert.h

ref/op/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/case/op.h:

ref/base/num/coef.h:

ref/op/pow2.h:

ref/base/num/convert.h:
